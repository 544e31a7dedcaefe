import { type ComponentChildren, createContext, type TargetedSubmitEvent } from "preact"
import { useContext } from "preact/hooks"
import type { FieldFault } from "../api/Failure.js"
import type { Action } from "../api/Loading.js"

/** The faults of the form, and the names of its fields. */
interface Faults {
  readonly list: ReadonlyArray<FieldFault>
  readonly names: Set<string>
}

const Context = createContext<Faults>({ list: [], names: new Set() })

/** The name of the field that an event comes from. A combobox has it beside its text. */
const nameOf = (event: Event): string | undefined => {
  const at = event.target instanceof Element ? event.target : undefined
  return (at?.getAttribute("name") ?? at?.closest(".field")?.querySelector("[name]")?.getAttribute("name")) || undefined
}

/** Ends what was wrong with a field. The failure ends with its last field. */
const endFault = ({ failure }: Action, name: string): void => {
  const before = failure.peek()
  const left = before?.fields?.filter(({ names }) => !names.includes(name))
  if (before === undefined || left === undefined || left.length === before.fields?.length) return
  failure.value = left.length === 0 ? undefined : { ...before, fields: left }
}

/** A form whose fields say below them what the server found wrong with their values, until these change. */
export const Form = ({
  children,
  of,
  send,
  ...given
}: {
  readonly of: Action
  readonly send: (event: TargetedSubmitEvent<HTMLFormElement>) => void
  readonly class?: string
  readonly children: ComponentChildren
}) => (
  <Context.Provider value={{ list: of.failure.value?.fields ?? [], names: new Set() }}>
    <form
      {...given}
      onSubmit={send}
      onInput={(event) => {
        const name = nameOf(event)
        if (name !== undefined) endFault(of, name)
      }}
    >
      {children}
    </form>
  </Context.Provider>
)

/** The fault of the field of a name; undefined for none. */
export const useFault = (name: string | undefined): string | undefined => {
  const { list, names } = useContext(Context)
  if (name === undefined) return undefined
  names.add(name)
  return list.find((fault) => fault.names.includes(name))?.text
}

/** The faults that no field of the form says. */
export const useOtherFaults = (): ((fault: FieldFault) => boolean) => {
  const { names } = useContext(Context)
  return (fault) => !fault.names.some((name) => names.has(name))
}
