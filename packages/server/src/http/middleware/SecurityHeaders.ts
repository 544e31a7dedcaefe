/**
 * Headers of every answer, each name followed by its value. They tell a browser to cache, frame, sniff and refer to nothing, and over https to stay
 * there.
 */
export const securityHeaders = (publicUrl: URL): ReadonlyArray<string> => [
  ...["x-content-type-options", "nosniff"],
  ...["referrer-policy", "no-referrer"],
  ...["cache-control", "no-store"],
  ...["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ...(publicUrl.protocol === "https:" ? ["strict-transport-security", "max-age=31536000"] : [])
]
