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

/** A form whose fields say below them what the server found wrong with their values. */
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
    <form {...given} onSubmit={send}>
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
