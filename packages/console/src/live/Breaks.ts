import { ReinsApiError } from "@reins/client"
import type { News } from "./Hub.js"

/** The news of a break. */
export const brokenBy = (error: unknown): News => {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof ReinsApiError
    ? { kind: "broken", message, code: error.code, requestId: error.requestId }
    : { kind: "broken", message, code: null, requestId: null }
}

/** Waits, unless the signal comes first. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
