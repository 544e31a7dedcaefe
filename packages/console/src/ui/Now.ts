import { signal } from "@preact/signals"

/** The time in milliseconds, which moves on each second while somebody looks. */
export const now = signal(Date.now())

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now()
}, 1000)
