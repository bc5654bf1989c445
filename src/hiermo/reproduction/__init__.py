"""The paper's tables and figures as studies: which runs they are, what is published, and what comes out here."""
