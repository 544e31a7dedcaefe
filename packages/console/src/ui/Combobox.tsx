import { useSignal } from "@preact/signals"
import { useEffect, useId, useRef } from "preact/hooks"

/** A choice of a combobox. */
export interface Choice {
  readonly value: string
  /** The words for it; the value stands behind them where it is another one. */
  readonly name: string
  /** The heading that it stands under. */
  readonly group: string
}

/** The choices that a search leaves, in their order. */
export const found = (choices: ReadonlyArray<Choice>, search: string): ReadonlyArray<Choice> => {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return choices.filter(({ group, name, value }) => {
    const text = `${name} ${value} ${group}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** Too many to look through. A search leaves fewer. */
const most = 100

interface Props {
  readonly choices: ReadonlyArray<Choice>
  readonly value: string
  /** The choice is undefined for a text that is none of them. */
  readonly onChoose: (value: string, choice: Choice | undefined) => void
  readonly name?: string | undefined
  readonly id?: string
  readonly required?: boolean
  /** True where only a choice counts. The field shows its name then, and a text that is none of them changes nothing. */
  readonly isStrict?: boolean
  readonly placeholder?: string
  readonly label?: string
  /** Takes a text that is no choice with Enter. A field with it has the focus and an open list at once. */
  readonly onEnter?: (text: string) => void
  /** Leaves the field, with Escape. */
  readonly onLeave?: () => void
  readonly "aria-describedby"?: string
  readonly "aria-invalid"?: boolean
}

/**
 * A text field with a list that the text searches. The arrow keys move in the list, Enter takes a choice, and Escape closes it. A text that is no
 * choice stays as it is.
 */
export const Combobox = ({
  choices,
  isStrict = false,
  label,
  name,
  onChoose,
  onEnter,
  onLeave,
  value,
  ...control
}: Props) => {
  const isOpen = useSignal(onEnter !== undefined)
  const at = useSignal(-1)
  /** Undefined until somebody types: all choices are shown then. */
  const search = useSignal<string | undefined>(undefined)
  const list = useId()
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (onEnter !== undefined) field.current?.focus()
  }, [])
  const shown = isOpen.value ? found(choices, search.value ?? "").slice(0, most) : []
  const isShown = shown.length > 0
  const active = Math.min(at.value, shown.length - 1)
  const open = () => {
    if (isOpen.value) return
    isOpen.value = true
    search.value = undefined
    at.value = choices.findIndex((each) => each.value === value)
  }
  const close = () => {
    isOpen.value = false
    at.value = -1
    search.value = undefined
  }
  const choose = (choice: Choice) => {
    onChoose(choice.value, choice)
    close()
  }
  const move = (by: number) => {
    if (!isOpen.value) return open()
    at.value = (active + by + shown.length) % Math.max(1, shown.length)
    requestAnimationFrame(() => document.getElementById(`${list}.${at.peek()}`)?.scrollIntoView({ block: "nearest" }))
  }
  /** True for a key that the list has taken. */
  const isForList = (key: string): boolean => {
    if (key === "ArrowDown") move(1)
    else if (key === "ArrowUp") move(-1)
    else if (key === "Escape" && (isShown || (isStrict && search.value !== undefined))) close()
    else if (key === "Enter" && isShown && shown[active] !== undefined) choose(shown[active])
    else if (key === "Enter" && onEnter !== undefined) onEnter(value)
    else if (key === "Escape" && onLeave !== undefined) onLeave()
    else return false
    return true
  }
  const chosenName = choices.find((choice) => choice.value === value)?.name ?? ""
  return (
    <div class="combobox">
      {isStrict && <input type="hidden" name={name} value={value} />}
      <input
        {...control}
        {...(!isStrict && { name })}
        ref={field}
        {...(label !== undefined && { "aria-label": label })}
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={isShown ? list : undefined}
        aria-activedescendant={isShown && active >= 0 ? `${list}.${active}` : undefined}
        value={isStrict ? (search.value ?? chosenName) : value}
        onClick={({ currentTarget }) => {
          // What is typed searches for another choice.
          if (isStrict && !isOpen.value) currentTarget.select()
          open()
        }}
        onBlur={close}
        onInput={({ currentTarget }) => {
          const text = currentTarget.value
          const named = isStrict ? choices.filter((choice) => choice.name === text) : found(choices, text)
          const [only, ...others] = named
          const chosen = others.length === 0 && (isStrict || only?.value === text) ? only : undefined
          if (isStrict && chosen !== undefined) return choose(chosen)
          // A list that has nothing else to offer would lie over what comes next.
          isOpen.value = chosen === undefined
          search.value = text
          at.value = isStrict ? 0 : -1
          if (!isStrict) onChoose(text, chosen)
        }}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || !isForList(event.key)) return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      {isShown && (
        <div class="choices" role="listbox" id={list} aria-label={label ?? "Choices"}>
          {shown.map((choice, index) => (
            <Option
              key={`${choice.group} ${choice.value}`}
              id={`${list}.${index}`}
              choice={choice}
              isActive={index === active}
              hasHeading={choice.group !== "" && choice.group !== shown[index - 1]?.group}
              choose={choose}
            />
          ))}
        </div>
      )}
    </div>
  )
}

const Option = ({
  choice,
  choose,
  hasHeading,
  id,
  isActive
}: {
  readonly choice: Choice
  readonly id: string
  readonly isActive: boolean
  readonly hasHeading: boolean
  readonly choose: (choice: Choice) => void
}) => (
  <>
    {hasHeading && (
      <div class="heading" role="presentation">
        {choice.group}
      </div>
    )}
    {/* biome-ignore lint/a11y/useKeyWithClickEvents: the text field has the keys */}
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      // The field keeps the focus, and its list stays open until the click has come.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => choose(choice)}
    >
      <span>{choice.name}</span>
      {choice.name !== choice.value && <span class="fine">{choice.value}</span>}
      <span class="sr">{choice.group}</span>
    </div>
  </>
)
