import type { Button } from '@reply/sink/channel'
import { clip } from '@reply/sink/internal'
import type { CloudMessage } from './api.ts'
import { buttonsBodyLength, listBodyLength, listRows, replyButtons } from './limits.ts'

/**
 * A message body with buttons: reply buttons if everything fits, else a list, which allows longer labels. Returns
 * undefined if neither fits.
 */
export function interactiveOf(
  body: string,
  buttons: readonly Button[],
  { listLabel }: { readonly listLabel: string },
): CloudMessage | undefined {
  if (buttons.length === 0) return undefined
  const titles = new Set(buttons.map(({ label }) => label.trim()))
  const isShort = [...titles].every((title) => title !== '' && title.length <= replyButtons.title)
  if (
    buttons.length <= replyButtons.most &&
    titles.size === buttons.length &&
    isShort &&
    body.length <= buttonsBodyLength
  ) {
    const replies = buttons.map(({ label, data }) => ({ type: 'reply', reply: { id: data, title: label.trim() } }))
    return { type: 'button', body: { text: body }, action: { buttons: replies } }
  }
  if (buttons.length > listRows.most || body.length > listBodyLength) return undefined
  const rows = buttons.map(({ label, data }, index) => {
    const whole = label.trim() || String(index + 1)
    const title = clip(whole, listRows.title)
    return title === whole ? { id: data, title } : { id: data, title, description: clip(whole, listRows.description) }
  })
  const action = { button: clip(listLabel, listRows.button), sections: [{ rows }] }
  return { type: 'list', body: { text: body }, action }
}
