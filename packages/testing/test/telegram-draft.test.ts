import { describe, expect, test } from 'vitest'
import { refusal, start } from './bot.ts'

const texts = (screen: readonly { readonly text: string; readonly isDraft: boolean }[]): readonly string[] =>
  screen.map(({ text, isDraft }) => (isDraft ? `${text}…` : text))

describe('a draft', () => {
  test('is shown last and silently, for 30 s after its last change', async () => {
    const { telegram, api, clock } = await start()
    await api.sendMessage(7, 'before')
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 5, text: '<b>be', parse_mode: 'HTML' }).catch(() => {})
    expect(texts(telegram.screen(7))).toEqual(['before'])
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 5, text: 'wri' })
    await clock.advance(20_000)
    await api.raw.sendRichMessageDraft({ chat_id: 7, draft_id: 5, rich_message: { markdown: 'writing' } })
    await clock.advance(29_999)
    expect(texts(telegram.screen(7))).toEqual(['before', 'writing…'])
    await clock.advance(1)
    expect(texts(telegram.screen(7))).toEqual(['before'])
    expect(telegram.notifications(7)).toBe(1)
  })

  test('disappears with any message, from either side', async () => {
    const { telegram, api } = await start()
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 5, text: 'one' })
    await api.sendMessage(7, 'a notice')
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 5, text: 'two' })
    telegram.say(7, 'hey')
    expect(texts(telegram.screen(7))).toEqual(['a notice', 'hey'])
  })

  test('stays when the message goes to another topic', async () => {
    const { telegram, api } = await start({ chats: [{ id: 7, topics: [1, 2] }] })
    await api.raw.sendMessageDraft({ chat_id: 7, message_thread_id: 1, draft_id: 5, text: 'one' })
    await api.sendMessage(7, 'elsewhere', { message_thread_id: 2 })
    expect(texts(telegram.screen(7, 1))).toEqual(['one…'])
    expect(texts(telegram.screen(7, 2))).toEqual(['elsewhere'])
  })

  test('replaces another draft', async () => {
    const { telegram, api } = await start()
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 5, text: 'one' })
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 6, text: 'two' })
    expect(texts(telegram.screen(7))).toEqual(['two…'])
  })

  test('needs a private chat and an id other than 0', async () => {
    const { api } = await start()
    expect(await refusal(api.raw.sendMessageDraft({ chat_id: -7, draft_id: 1, text: 'x' }))).toBe(
      '400 Bad Request: TEXTDRAFT_PEER_INVALID',
    )
    expect(await refusal(api.raw.sendMessageDraft({ chat_id: 7, draft_id: 0, text: 'x' }))).toMatch(/^400 Bad Request/)
  })

  test('can be stopped by the person, and then be kept', async () => {
    const { telegram, api } = await start()
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 5, text: 'one', can_stop: true })
    telegram.stopDraft(7)
    expect(telegram.screen(7)).toEqual([])
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 6, text: 'two', can_stop: true, keep_on_stop: true })
    telegram.stopDraft(7)
    expect(texts(telegram.screen(7))).toEqual(['two…'])
    expect(await api.getUpdates()).toMatchObject([
      { stopped_message_generation: { chat: { id: 7, type: 'private' }, draft_id: 5 } },
      { stopped_message_generation: { draft_id: 6 } },
    ])
    expect(() => telegram.stopDraft(7)).toThrow('Chat 7 shows no draft with a Stop button.')
  })
})
