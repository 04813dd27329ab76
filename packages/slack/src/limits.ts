import type { Limits } from '@reply/sink/channel'

/** Characters of all markdown blocks of a message. https://docs.slack.dev/reference/block-kit/blocks/markdown-block */
export const textLength = 12_000

/**
 * Characters of all blocks of a message together, with what Slack adds to each. Measured by others:
 * https://github.com/slackapi/bolt-js/issues/2509
 */
export const blocksLength = 13_200
export const blockOverhead = 125

/**
 * Characters of a message's fallback text, shown in notifications. Slack takes 4,000.
 * https://docs.slack.dev/reference/methods/chat.update
 */
export const fallbackLength = 3000

/** Characters on a button and in an option. https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const labelLength = 75

/** Characters of an option's value. https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
export const optionLength = 150

/** Characters of a button's value. https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const valueLength = 2000

/** Options of a select; of checkboxes and radio buttons. https://docs.slack.dev/reference/block-kit/block-elements */
export const mostOptions = 100
export const mostBoxes = 10

/** Characters of a view's metadata. https://docs.slack.dev/reference/views/modal-views */
export const metadataLength = 3000

/** Characters of a modal's title and buttons, and of a field's label. https://docs.slack.dev/reference/views/modal-views */
export const titleLength = 24
export const fieldLength = 2000

/**
 * Longest time to keep a stream open, in ms. Slack closes a stream about five minutes after it began, even an active
 * one. Measured by others: https://github.com/vercel/chat/issues/637
 */
export const streamMs = 240_000

/**
 * UTF-8 bytes of a stream's text. Slack refuses more at 10,600 to 11,300, titles of tasks counted once, details and
 * output twice. Measured by others: https://github.com/openclaw/openclaw/pull/143882
 */
export const streamLength = 9000

/** The share of `streamLength` for tasks: bytes of their titles, and the number of tasks. */
export const tasksLength = 1400
export const mostTasks = 45

/**
 * Opening and closing streams are tier 2 each: 20 a minute in a workspace.
 * https://docs.slack.dev/apis/web-api/rate-limits
 */
export const streamCalls = { calls: 18, perMs: 61_000 }

/**
 * A status disappears after two minutes; this leaves 30 s.
 * https://docs.slack.dev/reference/methods/assistant.threads.setStatus
 */
export const statusMs = 90_000

/** Largest age of an accepted request, in seconds. https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const requestAgeS = 300

/**
 * Slack's limits. One message a second in a channel: https://docs.slack.dev/apis/web-api/rate-limits. Edits are tier 3,
 * 50 a minute in a workspace, appends to streams tier 4, 100 a minute; all calls together stay below the lower one.
 */
export const slackLimits: Limits = {
  maxLength: textLength,
  // Mentions and links get one more character, which disables the mention.
  escapable: /[<@(:]+/g,
  edits: true,
  // 35 a minute: the share of text in the budget below.
  editIntervalMs: 1700,
  perChat: { calls: 1, perMs: 1100 },
  perClient: { calls: 48, perMs: 61_000 },
  typingMs: statusMs,
  // Slack takes 50 blocks of 25 elements; 20 rows of 5 are readable. The rest of all blocks' length is for the buttons.
  buttons: { perRow: 5, rows: 20, label: labelLength, data: valueLength, maxLength: 8000 },
  forms: true,
  // Slack has no silent messages: each one notifies the thread's followers.
  // https://docs.slack.dev/reference/methods/chat.postMessage
  silent: false,
  // Messages take no idempotency key. https://docs.slack.dev/reference/methods/chat.postMessage
  idempotent: false,
}

/** UTF-8 bytes, the unit of Slack's stream limit. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}
