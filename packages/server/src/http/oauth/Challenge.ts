/** The challenge of `/mcp`. It tells an app where it learns how to get a token (RFC 9728, 5.1), and which scopes it needs. */
export const challengeOf =
  (issuer: string) =>
  (scope: string, error?: "invalid_token" | "insufficient_scope"): string =>
    [
      `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`,
      `scope="${scope}"`,
      ...(error === undefined ? [] : [`error="${error}"`])
    ].join(", ")

/** The scopes that an app without a token is told to ask for. */
export const firstScope = "read act"
