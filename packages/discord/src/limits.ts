import type { FileLimits, Limits } from '@reply/sink/channel'

/** UTF-16 units of a message. https://discord.com/developers/docs/resources/message#create-message */
export const contentLength = 2000

/**
 * UTF-16 units of a component's `custom_id`.
 * https://discord.com/developers/docs/components/reference#anatomy-of-a-component
 */
export const customIdLength = 100

/** UTF-16 units of a `nonce`. https://discord.com/developers/docs/resources/message#create-message */
export const nonceLength = 25

/** UTF-16 units of a thread's name. https://discord.com/developers/docs/resources/channel#start-thread-from-message */
export const threadNameLength = 100

/** Limits of a modal. https://discord.com/developers/docs/components/reference#label and the components after it there. */
export const dialog = {
  components: 5,
  title: 45,
  label: 45,
  description: 100,
  /** Options of a select, and UTF-16 units of each label, value and description. */
  options: 25,
  option: 100,
  /** UTF-16 units of a text field's value: Discord's maximum. */
  textLength: 4000,
} as const

/**
 * How long an interaction may take to get its first response, in ms.
 * https://discord.com/developers/docs/interactions/receiving-and-responding
 */
export const responseMs = 3000

/** When an interaction without an answer is acknowledged, in ms. That leaves 1 s for the network. */
export const deferMs = 2000

/** How long follow-up answers are sent, in ms. Discord allows 15 minutes (same page), so this leaves one. */
export const followUpMs = 14 * 60_000

/** The allowed age of a signature, in ms. Discord documents no limit. Five minutes are common elsewhere. */
export const signatureMs = 5 * 60_000

/** Pause between reactions, in ms. The headers allow one per 250 ms in a channel. */
export const reactionPauseMs = 300

/**
 * A bot's files: 10 MiB for each (https://discord.com/developers/docs/reference#uploading-files), ten in a message, and 25 MiB for
 * the whole request (https://discord.com/developers/docs/resources/message#create-message).
 */
export const fileLimits: FileLimits = { maxBytes: 10_485_760, perPost: 10, postBytes: 24_000_000 }

/** Limits of one channel. A direct message and a thread each count as a channel. */
export const discordLimits: Limits = {
  maxLength: contentLength,
  // Literal marks get a backslash, and mentions an invisible character.
  escapable: /[\\*_~|`[<:#>@-]+/g,
  edits: true,
  // Discord limits the edits of messages older than an hour (30046) to a number that it doesn't document, so growing
  // texts and statuses continue in new messages.
  // https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
  growWindowMs: 50 * 60_000,
  // Two a second, for readability. The pacer spaces text further: it may use four of the five calls.
  editIntervalMs: 500,
  // The headers allow five posts and five edits per 5 s. A window starts with a call and ends slightly late.
  perChat: { calls: 5, perMs: 5200 },
  // 50 are documented, for all calls but responses to interactions.
  // https://discord.com/developers/docs/topics/rate-limits#global-rate-limit
  perClient: { calls: 45, perMs: 1000 },
  countsTyping: true,
  // "10 seconds": https://discord.com/developers/docs/resources/channel#trigger-typing-indicator. The apps end it with the
  // bot's next message: https://github.com/hikari-py/hikari/issues/1542
  typingMs: 10_000,
  // Discord accepts five rows of five. The fifth row is for the button that opens a dialog. Labels have at most 80 units.
  // The data is shorter than `customIdLength` because of its prefix.
  // https://discord.com/developers/docs/components/reference#button
  buttons: { perRow: 5, rows: 4, label: 80, data: 90 },
  forms: true,
  files: fileLimits,
  // `nonce` with `enforce_nonce`, for "the past few minutes".
  // https://discord.com/developers/docs/resources/message#create-message
  idempotent: true,
  // The shortest time that "a few minutes" can mean.
  keyMs: 120_000,
  small: (line) => `<small>${line}</small>`,
}
