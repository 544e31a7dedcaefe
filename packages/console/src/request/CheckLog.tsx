import { useSignal } from "@preact/signals"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await } from "../ui/Basics.js"

/** The log of a check that has failed, which is read once a person opens it. */
export const CheckLog = ({ id, name }: { readonly id: string; readonly name: string }) => {
  const isOpen = useSignal(false)
  return (
    <details class="check-log" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>Log of {name}</summary>
      {isOpen.value && <LogText id={id} />}
    </details>
  )
}

const LogText = ({ id }: { readonly id: string }) => {
  const log = useLoaded("the log", (signal) => reins.mergeRequests.getLog({ check_id: id }, { signal }), [id])
  return (
    <Await of={log}>
      {({ annotations, text, truncated }) => (
        <>
          {annotations.length > 0 && (
            <ul>
              {annotations.map(({ line, message, path }) => (
                <li key={`${path}:${line}:${message}`}>
                  <code>
                    {path}
                    {line === null ? "" : `:${line}`}
                  </code>{" "}
                  {message}
                </li>
              ))}
            </ul>
          )}
          {truncated && <p class="fine">This is the end of the log. The forge has all of it.</p>}
          {text === "" ? <p class="fine">The forge shows no log of it.</p> : <pre>{text}</pre>}
        </>
      )}
    </Await>
  )
}
