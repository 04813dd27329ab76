import type { Limits } from '@reply/sink'

/** Characters of all markdown blocks of a message. https://docs.slack.dev/reference/block-kit/blocks/markdown-block */
export const textLength = 12_000

/** Characters of what stands for a message in a notification. 4,000 are taken. https://docs.slack.dev/reference/methods/chat.update */
export const fallbackLength = 3000

/** Characters on a button and in an option. https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const labelLength = 75

/** Characters that an option carries. https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
export const optionLength = 150

/** Characters that a button carries. https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const valueLength = 2000

/** Options of a select; of checkboxes and radio buttons. https://docs.slack.dev/reference/block-kit/block-elements */
export const mostOptions = 100
export const mostBoxes = 10

/** Characters that a view carries. https://docs.slack.dev/reference/views/modal-views */
export const metadataLength = 3000

/** Characters of a modal's title and buttons, and above a field. https://docs.slack.dev/reference/views/modal-views */
export const titleLength = 24
export const fieldLength = 2000

/**
 * A stream is closed by Slack some five minutes after it began, whatever is added to it. Measured by others:
 * https://github.com/vercel/chat/issues/637
 */
export const streamMs = 240_000

/**
 * UTF-8 bytes of a stream's text. Slack refuses more at 10,600 to 11,300, titles of tasks counted once, details and output
 * twice. Measured by others: https://github.com/openclaw/openclaw/pull/143882
 */
export const streamLength = 9000

/** What is left of it for tasks: bytes of their titles, and how many there may be. */
export const tasksLength = 1400
export const mostTasks = 45

/** Opening and closing streams is of tier 2 each, 20 a minute in a workspace. https://docs.slack.dev/apis/web-api/rate-limits */
export const streamCalls = { calls: 18, perMs: 61_000 }

/** A status is gone after two minutes; this leaves half a minute. https://docs.slack.dev/reference/methods/assistant.threads.setStatus */
export const statusMs = 90_000

/** Older requests are refused, in seconds. https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const requestAgeS = 300

/**
 * What Slack takes. A message a second in one channel: https://docs.slack.dev/apis/web-api/rate-limits. Edits are of tier 3, 50 a minute in a
 * workspace, appends to streams of tier 4, 100; all together are kept below the lower one.
 */
export const slackLimits: Limits = {
  maxLength: textLength,
  // What rings is kept from it by one more.
  swells: /[<@(:]/g,
  edits: true,
  // 35 a minute: what text may take of the budget below.
  editIntervalMs: 1700,
  perChat: { calls: 1, perMs: 1100 },
  perClient: { calls: 48, perMs: 61_000 },
  typingMs: statusMs,
  // 25 elements in each of 50 blocks are taken; five in a row and 20 rows can be read.
  buttons: { perRow: 5, rows: 20, label: labelLength, data: valueLength },
  forms: true,
  // Each message rings who follows its thread. https://docs.slack.dev/reference/methods/chat.postMessage
  silent: false,
  // There is no key that a message could be sent with. https://docs.slack.dev/reference/methods/chat.postMessage
  idempotent: false,
}

/** UTF-8 bytes, which is what Slack counts of a stream. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}
