import { now } from "../ui/Now.js"
import { allowNotices, canNotify, refuseNotices, wish } from "./Notices.js"

/** A turn that runs longer is one that people do not watch. */
const longMs = 20_000

/** Offers notifications once, while the first long turn runs. */
export const AskNotices = ({ since }: { readonly since: string | null }) => {
  if (since === null || wish.value !== "unsaid" || !canNotify() || now.value - Date.parse(since) < longMs) return null
  return (
    <p class="notice ask-notices" role="status">
      Get a notification when this turn ends or asks you?{" "}
      <button type="button" class="small" onClick={() => void allowNotices()}>
        Notify me
      </button>{" "}
      <button type="button" class="small" onClick={refuseNotices}>
        No
      </button>
    </p>
  )
}
