import { ReinsApiError, ReinsConnectionError, ReinsValidationError } from "@reins/client"
import { isLoggedOut, me } from "./Server.js"

/** A failed call, as it is shown. */
export interface Failure {
  /** The server's own sentence, or that of the client where no answer came. */
  readonly message: string
  /** The code of the API; null where no answer came. */
  readonly code: string | null
  /** Names the request in the log of the server; null where no answer came. */
  readonly requestId: string | null
  /** The seconds to wait before another try, where the server says so. */
  readonly retryAfterSeconds: number | null
}

/** The failure of an error. One that says that the login is over asks for a new one, on the same page. */
export const failureOf = (error: unknown): Failure => {
  if (isLoggedOut(error)) me.value = null
  if (error instanceof ReinsApiError) {
    const { code, message, requestId, retryAfterSeconds = null } = error
    return { message, code, requestId, retryAfterSeconds }
  }
  if (error instanceof ReinsValidationError) {
    const message = error.detail.map(({ loc, msg }) => `${loc.slice(1).join(".") || "request"}: ${msg}`).join("; ")
    return { message, code: "validation", requestId: error.requestId, retryAfterSeconds: null }
  }
  const reason = error instanceof ReinsConnectionError ? error.reason : null
  const message = error instanceof Error ? error.message : String(error)
  return { message, code: reason, requestId: null, retryAfterSeconds: null }
}
