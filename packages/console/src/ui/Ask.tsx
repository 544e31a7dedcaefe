import type { ComponentChildren } from "preact"
import { Dialog } from "./Dialog.js"

/** Asks before something that cannot be taken back: says what happens, and names it on the button. */
export const Ask = ({
  act,
  children,
  close,
  isDanger = false,
  title,
  verb
}: {
  /** The question. */
  readonly title: string
  /** The words of the button, as in `Merge into main`. */
  readonly verb: string
  /** Runs when the person agrees. The dialog is closed then. */
  readonly act: () => unknown
  readonly close: () => void
  readonly isDanger?: boolean
  /** The facts and the consequences. */
  readonly children: ComponentChildren
}) => (
  <Dialog title={title} close={close}>
    {children}
    <p class="end">
      <button type="button" onClick={close}>
        Cancel
      </button>
      <button
        type="button"
        class={isDanger ? "danger" : "primary"}
        onClick={() => {
          close()
          act()
        }}
      >
        {verb}
      </button>
    </p>
  </Dialog>
)
