/** The settings of an export over OTLP, as the variables of OpenTelemetry give them. */
export interface OtlpSettings {
  /** The URL below which `/v1/traces`, `/v1/metrics` and `/v1/logs` are. */
  readonly endpoint: string
  readonly protocol: "http/json" | "http/protobuf"
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  /** The spans and figures of agents by the conventions for generative AI; absent unless the operator has asked for them. */
  readonly genAi?: { readonly content: boolean }
}
