/** The revisions of the protocol that the door speaks. */
export type Revision = "2025-11-25" | "2026-07-28"

/** Checks that the door does not pass, and why it need not. Each is named by its scenario and its own id. */
interface NotApplicable {
  readonly reason: string
  readonly checks: Readonly<Partial<Record<Revision | "both", ReadonlyArray<string>>>>
}

/**
 * The suite was written for reference servers, which bring tools, prompts and resources of its own names. This list has every check that is not
 * about a product for that reason. A check outside of it that does not pass is a fault.
 */
export const notApplicable: ReadonlyArray<NotApplicable> = [
  {
    reason: "calls a tool that only a reference server has",
    checks: {
      both: [
        "json-schema-2020-12/json-schema-2020-12-tool-found",
        "tools-call-audio/tools-call-audio",
        "tools-call-embedded-resource/tools-call-embedded-resource",
        "tools-call-error/tools-call-error",
        "tools-call-image/tools-call-image",
        "tools-call-mixed-content/tools-call-mixed-content",
        "tools-call-simple-text/tools-call-simple-text",
        "tools-call-with-progress/tools-call-with-progress"
      ],
      "2025-11-25": [
        "elicitation-sep1034-defaults/elicitation-sep1034-general",
        "elicitation-sep1330-enums/elicitation-sep1330-general",
        "tools-call-elicitation/tools-call-elicitation",
        "tools-call-sampling/tools-call-sampling"
      ],
      "2026-07-28": [
        "input-required-result-basic-elicitation/sep-2322-elicitation-incomplete",
        "input-required-result-basic-list-roots/sep-2322-list-roots-incomplete",
        "input-required-result-basic-sampling/sep-2322-sampling-incomplete",
        "input-required-result-capability-check/sep-2322-respect-client-capabilities",
        "input-required-result-ignore-extra-params/sep-2322-ignore-unexpected-params",
        "input-required-result-missing-input-response/sep-2322-missing-response-rerequests",
        "input-required-result-multi-round/sep-2322-multi-round-r1",
        "input-required-result-multiple-input-requests/sep-2322-multiple-inputs-incomplete",
        "input-required-result-request-state/sep-2322-request-state-incomplete",
        "input-required-result-result-type/sep-2322-result-type-included",
        "input-required-result-tampered-state/sep-2322-reject-tampered-state",
        "server-stateless/sep-2575-http-server-no-independent-requests-on-stream",
        "server-stateless/sep-2575-missing-capability-http-400",
        "server-stateless/sep-2575-server-no-log-without-loglevel",
        "server-stateless/sep-2575-server-rejects-undeclared-capability"
      ]
    }
  },
  {
    reason: "wants a tool with an argument in a header, and no tool has one",
    checks: {
      "2026-07-28": [
        "http-custom-header-server-validation/sep-2243-server-decode-base64",
        "http-custom-header-server-validation/sep-2243-server-no-xmcp-tool",
        "http-custom-header-server-validation/sep-2243-server-reject-invalid-param-chars",
        "http-custom-header-server-validation/sep-2243-server-reject-param-mismatch",
        "http-custom-header-server-validation/sep-2243-server-validate-param-match"
      ]
    }
  },
  {
    reason: "wants prompts, and the door declares none",
    checks: {
      both: [
        "completion-complete/completion-complete",
        "prompts-get-embedded-resource/prompts-get-embedded-resource",
        "prompts-get-simple/prompts-get-simple",
        "prompts-get-with-args/prompts-get-with-args",
        "prompts-get-with-image/prompts-get-with-image",
        "prompts-list/prompts-list"
      ],
      "2026-07-28": [
        "caching/sep-2549-prompts-list-caching-hints",
        "input-required-result-non-tool-request/sep-2322-non-tool-incomplete"
      ]
    }
  },
  {
    reason: "reads a resource that only a reference server has",
    checks: {
      both: [
        "resources-read-binary/resources-read-binary",
        "resources-read-text/resources-read-text",
        "resources-templates-read/resources-templates-read"
      ]
    }
  },
  {
    reason: "wants subscriptions, and the door declares none",
    checks: {
      "2025-11-25": ["resources-subscribe/resources-subscribe", "resources-unsubscribe/resources-unsubscribe"]
    }
  },
  {
    reason: "wants logging, and the door declares none",
    checks: { "2025-11-25": ["logging-set-level/logging-set-level", "tools-call-with-logging/tools-call-with-logging"] }
  },
  {
    reason:
      "recommends streams that can be resumed, and each request of the door stands alone: wait reads on from the log",
    checks: {
      "2025-11-25": [
        "server-sse-multiple-streams/server-sse-multiple-streams-session",
        "server-sse-polling/server-sse-polling-session",
        "server-sse-polling/server-sse-priming-event",
        "server-sse-polling/server-sse-retry-field"
      ]
    }
  }
]

export const notApplicableIn = (revision: Revision): ReadonlyArray<string> =>
  notApplicable.flatMap(({ checks }) => [...(checks.both ?? []), ...(checks[revision] ?? [])])
