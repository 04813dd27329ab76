import type { Limits } from '@reply/sink'

/** UTF-16 units of a message. https://discord.com/developers/docs/resources/message#create-message */
export const contentLength = 2000

/** Units of what a component carries. https://discord.com/developers/docs/components/reference#anatomy-of-a-component */
export const customIdLength = 100

/** Units of a `nonce`. https://discord.com/developers/docs/resources/message#create-message */
export const nonceLength = 25

/** Units of a thread's name. https://discord.com/developers/docs/resources/channel#start-thread-from-message */
export const threadNameLength = 100

/** What a dialog takes. https://discord.com/developers/docs/components/reference#label and the components below it there. */
export const dialog = {
  components: 5,
  title: 45,
  label: 45,
  description: 100,
  /** Options of a select, and units of each label, value and description. */
  options: 25,
  option: 100,
  /** Units that are written into a field: 4,000 are taken. */
  written: 4000,
} as const

/** An interaction is to be answered within 3 s; this leaves one for the way. https://discord.com/developers/docs/interactions/receiving-and-responding */
export const deferMs = 2000

/** It can be answered further for 15 minutes. The same page. */
export const tokenMs = 14 * 60_000

/** What a signature's time may differ: Discord names no limit; five minutes are what others take. */
export const signatureMs = 5 * 60_000

/** Signs on messages: one in 250 ms is what the headers say of them in one channel. */
export const signMs = 300

/** What one channel takes; a direct message and a thread are channels of their own. */
export const discordLimits: Limits = {
  maxLength: contentLength,
  // Marks that are meant as such are escaped, and what calls somebody is kept from it.
  swells: /[\\*_~|`[<:#>@-]/g,
  edits: true,
  // After an hour edits are refused (30046); ten minutes are for what has to wait. https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
  editWindowMs: 50 * 60_000,
  // Asked for by those who read: two a second, as far as the budget goes.
  editIntervalMs: 500,
  // Five in five seconds is what the headers say of posts and of edits, each. The window begins anew with a call, and ends a little late.
  perChat: { calls: 5, perMs: 5200 },
  // 50 are documented, answers to interactions aside. https://discord.com/developers/docs/topics/rate-limits#global-rate-limit
  perClient: { calls: 45, perMs: 1000 },
  // "10 seconds". https://discord.com/developers/docs/resources/channel#trigger-typing-indicator
  typingMs: 10_000,
  // Five rows of five; the fifth is for what opens a dialog. Labels of 80 are taken, what is carried has a prefix.
  // https://discord.com/developers/docs/components/reference#button
  buttons: { perRow: 5, rows: 4, label: 80, data: 90 },
  forms: true,
  // `nonce` with `enforce_nonce`, for "the past few minutes". https://discord.com/developers/docs/resources/message#create-message
  idempotent: true,
  small: (line) => `<small>${line}</small>`,
}
