import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"

/** A modal dialog, which Escape closes. The focus goes back to where it was. */
export const Dialog = ({
  children,
  close,
  isWide = false,
  title
}: {
  readonly title: string
  readonly close: () => void
  /** True for a form of several columns. */
  readonly isWide?: boolean
  readonly children: ComponentChildren
}) => {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => element.current?.showModal(), [])
  return (
    <dialog ref={element} class={isWide ? "broad" : ""} aria-labelledby={heading} onClose={close}>
      <div class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={() => element.current?.close()}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  )
}
