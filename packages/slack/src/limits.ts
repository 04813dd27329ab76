import type { FileLimits, Limits } from '@reply/sink/channel'

/** Characters of all markdown blocks of a message. https://docs.slack.dev/reference/block-kit/blocks/markdown-block */
export const textLength = 12_000

/**
 * Characters of all blocks of a message together, including Slack's overhead for each. Measured by others:
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

/** Options of a select, and of checkboxes or radio buttons. https://docs.slack.dev/reference/block-kit/block-elements */
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
 * UTF-8 bytes of a stream's text. Slack refuses at 10,600 to 11,300 bytes, counting titles of tasks once, details and
 * output twice. Measured by others: https://github.com/openclaw/openclaw/pull/143882
 */
export const streamLength = 9000

/** The share of `streamLength` for tasks: bytes of their titles and reasons, and the number of tasks. */
export const tasksLength = 1400
export const mostTasks = 45

/**
 * How often to renew a status, in ms. It disappears after two minutes, so this leaves 30 s.
 * https://docs.slack.dev/reference/methods/assistant.threads.setStatus
 */
export const statusMs = 90_000

/** Largest age of an accepted request, in seconds. https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const requestAgeS = 300

/**
 * Slack counts each method separately: "per API method per workspace/team per app". The tiers are those on each
 * method's page: 20 a minute in tier 2, 50 in tier 3, 100 in tier 4. Each value stays slightly below.
 * https://docs.slack.dev/apis/web-api/rate-limits
 */
const tier2 = { scope: 'client', calls: 19, perMs: 60_500 } as const
const tier3 = { scope: 'client', calls: 49, perMs: 60_500 } as const
const tier4 = { scope: 'client', calls: 98, perMs: 60_500 } as const

/**
 * Slack takes files of 1 GB. These are this package's own limits, because a file is kept in memory while it is sent. Files of
 * one call are attached to one message, and Slack documents no number: https://docs.slack.dev/messaging/working-with-files
 */
export const fileLimits: FileLimits = { maxBytes: 50_000_000, perPost: 10 }

/** Slack's limits. */
export const slackLimits: Limits = {
  maxLength: textLength,
  // Mentions and links get one more character, which disables the mention.
  escapable: /[<@(:]+/g,
  edits: true,
  // The app shows this smoothly. The pacer spaces text further, by the methods' budgets.
  editIntervalMs: 500,
  // Posts: "one message per second per channel", and "several hundred messages per minute" in a workspace. Same page.
  perChat: { calls: 1, perMs: 1100 },
  perClient: { calls: 200, perMs: 60_500 },
  perKind: {
    // chat.update, chat.delete, and conversations.history and .replies, which look for posts.
    edit: tier3,
    remove: tier3,
    'look-up': tier3,
    // chat.startStream, chat.appendStream, chat.stopStream.
    open: tier2,
    append: tier4,
    close: tier2,
    // reactions.remove; reactions.add is tier 3.
    react: tier2,
    // agents.sessions.setStatus: https://docs.rs/crate/slack-morphism/2.29.0/source/src/api/agents.rs
    session: tier3,
  },
  typingMs: statusMs,
  // Slack allows 50 blocks of 25 elements, but only 20 rows of 5 are readable. Buttons get the rest of the blocks'
  // length.
  buttons: { perRow: 5, rows: 20, label: labelLength, data: valueLength, maxLength: 8000 },
  forms: true,
  files: fileLimits,
  // Every message notifies the thread's followers.
  // https://docs.slack.dev/reference/methods/chat.postMessage
  silent: false,
  // Messages have no idempotency key. https://docs.slack.dev/reference/methods/chat.postMessage
  idempotent: false,
}

/** Returns the length in UTF-8 bytes, the unit of Slack's stream limit. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}
