import type { Limits } from '@reply/sink'

/** UTF-16 units. The apps take 65,536; what is longer than this is folded there. */
export const textLength = 4096

/** The apps let a message be edited for 15 min, and show nothing of later edits. Half a minute less, as clocks differ. https://faq.whatsapp.com/1137632640264105 */
export const editWindowMs = 870_000

/**
 * WhatsApp documents nothing of what a linked device may do, and bars numbers that write like a machine: one call in 3 s to a
 * chat is what people report to be safe.
 */
export const baileysLimits: Limits = {
  maxLength: textLength,
  // Signs that are no marks are kept from being some, and names from ringing.
  swells: /[*_~`>@]/g,
  edits: true,
  editWindowMs,
  editIntervalMs: 3000,
  perChat: { calls: 1, perMs: 3000 },
  perClient: { calls: 5, perMs: 5000 },
  // The apps show it for about 10 s after it was told last.
  typingMs: 10_000,
  // Linked devices can't post any that the apps show.
  buttons: undefined,
  silent: false,
  // The message's id is its key.
  idempotent: true,
}
