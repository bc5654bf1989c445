// A page opened from the disk may not start a worker, and the search is one. Here a hidden frame takes its place.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.frame = frame
      this.ready = new Promise(resolve => {
        addEventListener("message", event => {
          if (event.source !== frame.contentWindow) return
          if (event.data === "hiermo: ready") return resolve()
          const message = new MessageEvent("message", { data: event.data })
          this.onmessage?.(message)
          this.dispatchEvent(message)
        })
      })
      // what the search expects of a worker: importScripts, and a postMessage that reaches the page
      frame.srcdoc = `<script>
        self.importScripts = (...urls) => Promise.all(urls.map(url => new Promise((resolve, reject) => {
          const script = document.createElement("script")
          script.src = url
          script.onload = resolve
          script.onerror = reject
          document.head.append(script)
        })))
        self.postMessage = message => parent.postMessage(message, "*")
        addEventListener("message", event => event.source === parent || event.stopImmediatePropagation())
      <\/script><script src="${url}"><\/script><script>parent.postMessage("hiermo: ready", "*")<\/script>`
      document.body.append(frame)
    }
    postMessage(message) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: message, source: parent })))
    }
    terminate() {
      this.frame.remove()
    }
  }
