import { getFile, setMyCommands } from '../file.ts'
import { limits } from '../limits.ts'
import { flagIn, type Payload, textIn } from '../payload.ts'
import { badRequest } from '../refusal.ts'
import { type TelegramState, targetOf } from '../state.ts'
import { chatOf } from '../wire.ts'
import { sendChatAction, sendMessageDraft, sendRichMessageDraft } from './draft.ts'
import { deleteMessage, editMessageReplyMarkup, editMessageText, setMessageReaction } from './edit.ts'
import { sendDocument, sendMessage, sendPhoto, sendRichMessage } from './send.ts'
import { deleteWebhook, getUpdates, getWebhookInfo, setWebhook } from './update.ts'

/** Executes a method and returns its result. Throws a `Refusal`. */
export type Method = (state: TelegramState, payload: Payload, gone: AbortSignal) => unknown

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['getMe', ({ me }) => me],
  ['setMyCommands', setMyCommands],
  ['getMyCommands', ({ commands }) => commands],
  ['getFile', getFile],
  ['getChat', (state, payload) => chatOf(targetOf(state, payload).chat)],
  ['sendMessage', sendMessage],
  ['sendRichMessage', sendRichMessage],
  ['sendDocument', sendDocument],
  ['sendPhoto', sendPhoto],
  ['sendMessageDraft', sendMessageDraft],
  ['sendRichMessageDraft', sendRichMessageDraft],
  ['sendChatAction', sendChatAction],
  ['editMessageText', editMessageText],
  ['editMessageReplyMarkup', editMessageReplyMarkup],
  ['deleteMessage', deleteMessage],
  ['setMessageReaction', setMessageReaction],
  ['answerCallbackQuery', answerCallbackQuery],
  ['getUpdates', getUpdates],
  ['setWebhook', setWebhook],
  ['deleteWebhook', deleteWebhook],
  ['getWebhookInfo', getWebhookInfo],
])

/** Undefined if the server doesn't have the method. */
export function methodNamed(name: string, { features }: TelegramState): Method | undefined {
  if (name.includes('Rich') && !features.richMessages) return undefined
  if (name.endsWith('Draft') && !features.drafts) return undefined
  return methods.get(name)
}

function answerCallbackQuery({ presses }: TelegramState, payload: Payload): unknown {
  const text = textIn(payload, 'text') ?? ''
  if (text.length > limits.callbackText) throw badRequest('MESSAGE_TOO_LONG')
  presses.answer(textIn(payload, 'callback_query_id') ?? '', text, flagIn(payload, 'show_alert'))
  return true
}
