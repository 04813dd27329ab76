import type { Bubble, PostOptions } from '@reply/sink/channel'
import type { TelegramFields } from './api.ts'

/** Whether a message makes a sound, and what it replies to. */
export function loudness({ silent, replyTo }: PostOptions): TelegramFields {
  return {
    ...(silent && { disable_notification: true }),
    // Posts even if the message it replies to was deleted.
    ...(replyTo && { reply_parameters: { message_id: Number(replyTo.id), allow_sending_without_reply: true } }),
  }
}

/** For text messages: a preview would make Telegram load an address that a model wrote. Rich messages have none. */
export const noPreview: TelegramFields = { link_preview_options: { is_disabled: true } }

/** The buttons below a message. */
export function keyboard({ buttons }: Bubble): TelegramFields {
  if (buttons.length === 0) return {}
  const inline_keyboard = buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })))
  return { reply_markup: { inline_keyboard } }
}
