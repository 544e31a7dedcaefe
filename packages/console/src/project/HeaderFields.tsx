import type { HeaderSecret, ProjectSecret, ProjectServer } from "@reins/client"
import { Field } from "../ui/Basics.js"

/** The headers of the requests to a server. Their values are secrets of the project. */
export const HeaderFields = ({
  change,
  secrets,
  server
}: {
  readonly server: ProjectServer
  readonly secrets: ReadonlyArray<ProjectSecret>
  readonly change: (server: ProjectServer) => void
}) => {
  const headers = Object.entries(server.headers ?? {})
  const set = (next: ReadonlyArray<readonly [string, HeaderSecret]>) => {
    const { headers: _, ...rest } = server
    change(next.length === 0 ? rest : { ...rest, headers: Object.fromEntries(next) })
  }
  const put = (at: number, next: readonly [string, HeaderSecret]) =>
    set(headers.map((each, place) => (place === at ? next : each)))
  const isTaken = (name: string) => headers.some(([each]) => each.toLowerCase() === name.toLowerCase())
  const names = secrets.map((secret) => secret.name)
  return (
    <>
      {headers.map(([name, value], at) => (
        <HeaderRow
          key={`${headers.length}.${at}`}
          name={name}
          value={value}
          secrets={[...new Set([...names, value.secret])].filter((secret) => secret !== "")}
          isTaken={isTaken}
          change={(next) => put(at, next)}
          remove={() => set(headers.filter((_, place) => place !== at))}
        />
      ))}
      <button
        type="button"
        class="small"
        disabled={isTaken("") || headers.length >= 20}
        onClick={() => set([...headers, isTaken("Authorization") ? ["", empty] : ["Authorization", bearer]])}
      >
        Add a header
      </button>
      {secrets.length === 0 && (
        <p class="fine">A header takes its value from a secret. Save the secret on the page of the project first.</p>
      )}
    </>
  )
}

const empty: HeaderSecret = { secret: "" }
const bearer: HeaderSecret = { secret: "", prefix: "Bearer " }

const HeaderRow = ({
  change,
  isTaken,
  name,
  remove,
  secrets,
  value
}: {
  readonly name: string
  readonly value: HeaderSecret
  readonly secrets: ReadonlyArray<string>
  readonly isTaken: (name: string) => boolean
  readonly change: (header: readonly [string, HeaderSecret]) => void
  readonly remove: () => void
}) => (
  <div class="spec-row header">
    <Field label="Header">
      <input
        class="code"
        required
        pattern="[A-Za-z0-9\-]{1,64}"
        title="Letters, digits and -"
        spellcheck={false}
        defaultValue={name}
        onChange={({ currentTarget }) => {
          const given = currentTarget.value
          if (given.toLowerCase() !== name.toLowerCase() && isTaken(given)) currentTarget.value = name
          else change([given, value])
        }}
      />
    </Field>
    <Field label="Text before the secret">
      <input
        class="code"
        maxLength={100}
        spellcheck={false}
        value={value.prefix ?? ""}
        onInput={({ currentTarget: { value: prefix } }) =>
          change([name, { secret: value.secret, ...(prefix !== "" && { prefix }) }])
        }
      />
    </Field>
    <Field label="Secret">
      <select
        required
        value={value.secret}
        onChange={({ currentTarget }) => change([name, { ...value, secret: currentTarget.value }])}
      >
        <option value="">choose a secret</option>
        {secrets.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </Field>
    <button type="button" class="icon" aria-label={`Leave out the header ${name}`} onClick={remove}>
      ×
    </button>
  </div>
)
