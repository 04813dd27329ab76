import type { Limits } from '@reply/sink/channel'

/** UTF-16 units of a text. The apps take 65,536, but collapse longer texts than this. */
export const textLength = 4096

/**
 * The apps allow edits for 15 minutes and ignore later ones. 30 s less, because clocks differ.
 * https://faq.whatsapp.com/1137632640264105
 */
export const editWindowMs = 870_000

/**
 * WhatsApp documents no limits for linked devices, and bans numbers that write like a machine. Users report one call in
 * 3 s to a chat as safe.
 */
export const baileysLimits: Limits = {
  maxLength: textLength,
  // Literal marks and mentions get an invisible character, which disables them.
  escapable: /[*_~`>@]+/g,
  edits: true,
  editWindowMs,
  editIntervalMs: 3000,
  perChat: { calls: 1, perMs: 3000 },
  // One a second in all chats together: a number that writes to more people at once looks like a machine. No source.
  perClient: { calls: 12, perMs: 12_000 },
  // The apps show it for about 10 s after the last update, and end it with the next message:
  // https://github.com/adiwajshing/Baileys/issues/49
  typingMs: 10_000,
  // The apps don't show buttons posted by linked devices.
  buttons: undefined,
  silent: false,
  // The message id is derived from the post's key.
  idempotent: true,
}
