/**
 * The limits of an ntfy server as it comes. [docs] is https://docs.ntfy.sh/publish/#limitations, [source] is the code of the
 * server, https://github.com/binwiederhier/ntfy/tree/81a486ad/server, and [measured] was seen on a server built from it.
 */
export const limits = {
  /** Requests at once, and the time after which one more is allowed, in ms. [docs] */
  requests: 60,
  replenishMs: 5000,
  /** A longer message, in bytes, becomes an attachment. [docs] One of exactly this length does, too. [measured] */
  message: 4096,
  /** Bytes of a body in JSON: twice that of a message. A body of exactly this length is too long. [source: `transformBodyJSON`] */
  body: 8192,
} as const

/** What a topic is. [docs] https://docs.ntfy.sh/publish/#picking-a-topic */
export const topicPattern = /^[-_A-Za-z0-9]{1,64}$/

/** Names that the server uses itself. [source: `DefaultDisallowedTopics`] */
export const disallowedTopics: ReadonlySet<string> = new Set([
  ...['docs', 'static', 'file', 'app', 'metrics', 'account', 'settings', 'signup', 'login', 'v1'],
])
