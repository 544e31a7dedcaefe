import { useSignal } from "@preact/signals"
import { useLayoutEffect, useRef } from "preact/hooks"

/** A button for what cannot be undone: it asks in its place before it acts. */
export const Confirm = ({
  act,
  ask,
  children,
  disabled = false
}: {
  /** The words of the button, a verb. */
  readonly children: string
  /** The consequence, as a question. */
  readonly ask: string
  readonly act: () => unknown
  readonly disabled?: boolean
}) => {
  const isAsking = useSignal(false)
  const sure = useRef<HTMLButtonElement>(null)
  const first = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    if (isAsking.value) sure.current?.focus()
  }, [isAsking.value])
  const leave = () => {
    isAsking.value = false
    requestAnimationFrame(() => first.current?.focus())
  }
  return isAsking.value ? (
    <fieldset
      class="confirm"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return
        event.preventDefault()
        event.stopPropagation()
        leave()
      }}
    >
      <legend>{ask}</legend>
      <button
        ref={sure}
        type="button"
        class="small danger"
        onClick={() => {
          isAsking.value = false
          act()
        }}
      >
        {children}
      </button>
      <button type="button" class="small" onClick={leave}>
        No
      </button>
    </fieldset>
  ) : (
    <button ref={first} type="button" class="small danger" disabled={disabled} onClick={() => (isAsking.value = true)}>
      {children}
    </button>
  )
}
