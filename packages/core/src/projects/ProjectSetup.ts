import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

/** No program takes a NUL in its arguments or in its environment. */
const withoutNul = (maxLength: number) => Schema.String.pipe(Schema.maxLength(maxLength), Schema.pattern(/^[^\0]*$/))

export const SetupStep = Schema.Struct({
  name: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100)),
    "Its name for people, which events and errors give."
  ),
  argv: field(
    Schema.Array(withoutNul(8192)).pipe(Schema.minItems(1), Schema.maxItems(256)),
    'The program and its arguments, without a shell: `["npm", "ci"]`, or `["sh", "-c", "make deps && make tools"]` for a line of a shell.'
  ),
  timeout_seconds: field(
    optional(Schema.Int.pipe(Schema.between(1, 1500))),
    "The time that it may take, in seconds; 600 when absent."
  )
}).annotations({
  identifier: "SetupStep",
  description:
    "A command that prepares the workspace. It runs in the workspace, in the same executor as agents, without any credential of a connection."
})
export type SetupStep = typeof SetupStep.Type

/** The time that a setup step may take which does not say, in seconds. */
export const setupStepSeconds = 600

export const SecretName = Schema.String.pipe(Schema.pattern(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)).annotations({
  description: "A letter, then letters, digits, `_` and `-`, at most 64 characters."
})

/** Values of variables and of secrets are bounded alike, below what a process may be given. */
export const environmentValue = withoutNul(32_768)

/**
 * Names that a spec cannot set: those that the service or an executor gives to every agent, those that make a shell, a loader or Node run code
 * before the agent, and those that lead around the proxy of the project's network.
 */
const reservedNames =
  /^(?:REINS_.*|LD_.*|DYLD_.*|XDG_(?:CONFIG|DATA|STATE|CACHE)_HOME|HOME|PATH|TMPDIR|PWD|OLDPWD|SHLVL|IFS|ENV|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|PS4|PROMPT_COMMAND|NODE_OPTIONS|NODE_PATH|(?:HTTP|HTTPS|ALL|NO)_PROXY)$/i

export const VariableName = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/),
  Schema.filter((name) => !reservedNames.test(name), {
    message: () =>
      "this variable is set by the service, or changes how the agent's own program is started; choose another name"
  })
)

export const EnvironmentVariable = Schema.Struct({
  name: field(
    VariableName,
    "Its name. `PATH`, `HOME`, `REINS_*`, `LD_*`, `NODE_OPTIONS`, the names of proxies and others that start programs differently are refused."
  ),
  value: field(optional(environmentValue), "What everybody who may read the project may read. Give this or `secret`."),
  secret: field(
    optional(SecretName),
    "The name of a secret of the project, whose value it gets. It is given with `PUT /api/projects/{project_id}/secrets/{name}`."
  ),
  for: field(
    optional(Schema.Literal("setup", "agent", "both")),
    "`setup` for the setup steps alone, `agent` for the agents alone; `both` when absent."
  )
})
  .pipe(
    Schema.filter(({ secret, value }) => (value === undefined) !== (secret === undefined), {
      message: () => "give either a value or a secret"
    })
  )
  .annotations({
    identifier: "EnvironmentVariable",
    description: "A variable that setup steps or agents find in their environment."
  })
export type EnvironmentVariable = typeof EnvironmentVariable.Type

/** The two that a variable can be for. */
export type EnvironmentUser = "setup" | "agent"

/** True for a variable that setup steps, or agents, get. */
export const isFor =
  (user: EnvironmentUser) =>
  ({ for: given = "both" }: EnvironmentVariable): boolean =>
    given === "both" || given === user

const isUnambiguous = (variables: ReadonlyArray<EnvironmentVariable>): boolean =>
  (["setup", "agent"] as const).every((user) => {
    const names = variables.filter(isFor(user)).map(({ name }) => name)
    return new Set(names).size === names.length
  })

export const Environment = Schema.Array(EnvironmentVariable).pipe(
  Schema.maxItems(100),
  Schema.filter(isUnambiguous, { message: () => "a variable has two values for setup, or two for agents" })
)

export const Setup = Schema.Array(SetupStep).pipe(Schema.maxItems(20))
