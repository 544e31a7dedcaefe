// Shows what the server tells this browser while no page is open. It stores and fetches nothing.

const isSession = (id) => typeof id === "string" && /^sess_[0-9a-z]+$/.test(id)

self.addEventListener("install", () => self.skipWaiting())
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()))

const show = async (event) => {
  const { body = "", session_id, title = "Reins" } = event.data?.json() ?? {}
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true })
  // A page that somebody looks at shows it already.
  if (pages.some(({ focused, visibilityState }) => focused && visibilityState === "visible")) return
  await self.registration.showNotification(title, {
    body,
    tag: isSession(session_id) ? session_id : "reins",
    data: { session_id }
  })
}

const open = async ({ session_id } = {}) => {
  const url = new URL(isSession(session_id) ? `ui/sessions/${session_id}` : "ui", new URL("../", self.location)).href
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true })
  const page = pages.find((each) => each.url.startsWith(new URL("../ui", self.location).href))
  if (page === undefined) return self.clients.openWindow(url)
  await page.focus()
  // The page that is the root of all others is not this worker's to lead.
  return page.navigate(url).catch(() => self.clients.openWindow(url))
}

self.addEventListener("push", (event) => event.waitUntil(show(event)))
self.addEventListener("notificationclick", (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data ?? undefined))
})
