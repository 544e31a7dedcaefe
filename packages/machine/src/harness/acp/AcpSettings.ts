import { Schema } from "effect"
import { FailureReason, regexSource, Template } from "../Manifest.js"

/** The meaning of an agent's error message. `pattern` is a regular expression over the whole message and ignores case. The first match wins. */
export const ErrorRule = Schema.Struct({
  pattern: regexSource,
  reason: FailureReason,
  retryable: Schema.Boolean
})
export type ErrorRule = typeof ErrorRule.Type

const exactOptional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The differences between agents that speak ACP. */
export const AcpSettings = Schema.Struct({
  resume: Schema.Literal("load", "resume", "none"),
  /** The span that the `usage` of a prompt's answer covers. */
  usage_scope: Schema.Literal("last_call", "turn", "process", "none"),
  /**
   * Some agents report a failed model call as words of the assistant and end the turn normally. After an update with `value` at `path`, further
   * words are the error. A turn whose last words match `pattern`, which ignores case, has failed; its first group, or else all that matches, is the
   * error.
   */
  error_as_text: Schema.NullOr(
    Schema.Struct({
      path: exactOptional(Schema.Array(Schema.String)),
      value: exactOptional(Schema.String),
      pattern: exactOptional(regexSource)
    }).pipe(
      Schema.filter(
        ({ path, pattern, value }) =>
          ((path === undefined) === (value === undefined) && (path !== undefined || pattern !== undefined)) ||
          "must be a path with a value, a pattern, or both"
      )
    )
  ),
  /**
   * Lines of stderr that tell more than the protocol does. The first group is the text. `error` explains a failure that the protocol reports.
   * `fatal` ends a turn that the agent would continue in vain, for example with further retries.
   */
  stderr: Schema.Struct({ error: Schema.NullOr(regexSource), fatal: Schema.NullOr(regexSource) }),
  /** Rules that are tried before those for every agent. */
  errors: Schema.Array(ErrorRule),
  /** `config_option` sets the first option of the category `model`; an agent that has several of these needs the id of the right one. */
  model_selector: Schema.Union(
    Schema.Literal("config_option", "set_model", "none"),
    Schema.Struct({ config_option: Schema.String })
  ),
  /** The agent's name for the chosen model. */
  model_value: Template,
  /**
   * The way to say something to the agent while it works. `session_steering` is the method `_session/steering`, whose answer tells if the agent
   * took it; the agent must hand it back when it is idle (`idleBehavior: promptRequired`).
   */
  steering: Schema.optionalWith(Schema.Literal("session_steering", "none"), { default: () => "none" }),
  /**
   * `offered` gives an agent the content of images and of small texts that come with a message, as far as its handshake offers to take them.
   * `links` gives it their paths alone, for agents that hand an image to models which cannot see. `words` says the paths in the text of the
   * prompt, for agents that pass over links.
   */
  attachments: Schema.optionalWith(Schema.Literal("links", "offered", "words"), { default: () => "links" }),
  /**
   * The way to name a new native session before its first prompt. Some agents have a model find a name otherwise, and nobody has asked for that
   * call or chosen that model. `set_title` is the method `session/set_title`.
   */
  naming: Schema.optionalWith(Schema.Literal("set_title", "none"), { default: () => "none" }),
  /** The `_meta` that a native session is opened with, for agents that take a setting from nowhere else. */
  session_meta: exactOptional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /** The kinds of permission option that are chosen, best first. */
  permission_answer: Schema.Array(Schema.Literal("allow_always", "allow_once", "reject_once", "reject_always")),
  start_timeout_ms: Schema.Int,
  /** The longest time in a turn without a line from the agent, in milliseconds. */
  silence_timeout_ms: Schema.Int,
  cancel_timeout_ms: Schema.Int
})
export type AcpSettings = typeof AcpSettings.Type
