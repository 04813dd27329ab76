import { Api, InlineKeyboard, InputFile } from 'grammy'
import { describe, expect, test } from 'vitest'
import { refusal, start, token } from './bot.ts'

describe('a message', () => {
  test('is shown as it was sent', async () => {
    const { telegram, api } = await start()
    const sent = await api.sendMessage(7, 'Hello', {
      disable_notification: true,
      reply_markup: new InlineKeyboard().text('Yes', 'y').text('No', 'n').row().url('Docs', 'https://docs.test'),
    })
    expect(sent).toMatchObject({ message_id: 1, text: 'Hello', chat: { id: 7, type: 'private' } })
    expect(telegram.screen(7)).toEqual([
      {
        messageId: 1,
        from: 'bot',
        text: 'Hello',
        entities: [],
        source: 'Hello',
        mode: 'plain',
        buttons: [
          [
            { text: 'Yes', data: 'y' },
            { text: 'No', data: 'n' },
          ],
          [{ text: 'Docs', url: 'https://docs.test' }],
        ],
        document: undefined,
        replyTo: undefined,
        threadId: undefined,
        isSilent: true,
        editedTimes: 0,
        reactions: [],
        isDraft: false,
        mentions: [],
        rich: [],
        loads: [],
        names: [],
        commands: [],
      },
    ])
  })

  test('notifies unless it is silent; an edit does not', async () => {
    const { telegram, api } = await start()
    await api.sendMessage(7, 'loud')
    await api.sendMessage(7, 'quiet', { disable_notification: true })
    await api.editMessageText(7, 2, 'still quiet')
    expect(telegram.notifications(7)).toBe(1)
  })

  test('replies to a message that exists, or is allowed to go without', async () => {
    const { telegram, api } = await start()
    const asked = telegram.say(7, 'why?')
    await api.sendMessage(7, 'because', { reply_parameters: { message_id: asked } })
    const gone = { message_id: 99 }
    expect(await refusal(api.sendMessage(7, 'lost', { reply_parameters: gone }))).toBe(
      '400 Bad Request: message to be replied not found',
    )
    await api.sendMessage(7, 'alone', { reply_parameters: { ...gone, allow_sending_without_reply: true } })
    expect(telegram.screen(7).map(({ text, replyTo }) => [text, replyTo])).toEqual([
      ['why?', undefined],
      ['because', asked],
      ['alone', undefined],
    ])
  })

  test('with a file has its name, its bytes and a caption', async () => {
    const { telegram, api } = await start()
    const bytes = Buffer.from('line\r\n--not-the-boundary\r\n\u0000ü')
    const sent = await api.sendDocument(7, new InputFile(bytes, 'out put.txt'), {
      caption: '<b>All</b>',
      parse_mode: 'HTML',
      reply_markup: new InlineKeyboard().text('Again', 'a'),
    })
    expect(sent.document).toMatchObject({ file_name: 'out put.txt', file_size: bytes.length })
    const [shown] = telegram.screen(7)
    expect(shown).toMatchObject({ text: 'All', buttons: [[{ text: 'Again', data: 'a' }]] })
    expect([shown?.document?.name, Buffer.from(shown?.document?.bytes ?? [])]).toEqual(['out put.txt', bytes])
    await api.sendDocument(7, sent.document.file_id)
    expect(telegram.screen(7)[1]?.document?.name).toBe('out put.txt')
    expect(await refusal(api.sendDocument(7, 'nothing'))).toMatch('wrong file identifier/HTTP URL specified')
  })

  test('is refused with buttons whose data has more than 64 bytes', async () => {
    const { api } = await start()
    const keyboard = (data: string) => ({ reply_markup: new InlineKeyboard().text('Go', data) })
    expect(await refusal(api.sendMessage(7, 'a', keyboard('ü'.repeat(32))))).toMatch('done')
    expect(await refusal(api.sendMessage(7, 'b', keyboard('ü'.repeat(33))))).toBe(
      '400 Bad Request: BUTTON_DATA_INVALID',
    )
  })

  test('goes to a topic that exists', async () => {
    const { telegram, api } = await start({ chats: [{ id: -5, type: 'supergroup', topics: [10, 11] }] })
    await api.sendMessage(-5, 'ten', { message_thread_id: 10 })
    await api.sendMessage(-5, 'eleven', { message_thread_id: 11 })
    expect(telegram.screen(-5, 11).map(({ text }) => text)).toEqual(['eleven'])
    expect(telegram.screen(-5)).toHaveLength(2)
    expect(await refusal(api.sendMessage(-5, 'x', { message_thread_id: 12 }))).toBe(
      '400 Bad Request: message thread not found',
    )
  })
})

describe('an edit', () => {
  test('changes the message, and removes the buttons unless it names them', async () => {
    const { telegram, api } = await start()
    await api.sendMessage(7, 'one', { reply_markup: new InlineKeyboard().text('Yes', 'y') })
    const edited = await api.editMessageText(7, 1, '<b>two</b>', { parse_mode: 'HTML' })
    expect(edited).toMatchObject({ message_id: 1, text: 'two', edit_date: expect.any(Number) })
    expect(telegram.screen(7)).toMatchObject([{ text: 'two', buttons: [], editedTimes: 1, mode: 'HTML' }])
  })

  test('that changes nothing visible is rejected', async () => {
    const { telegram, api } = await start()
    await api.sendMessage(7, 'one')
    expect(await refusal(api.editMessageText(7, 1, '<i></i>one ', { parse_mode: 'HTML' }))).toMatch(
      /^400 Bad Request: message is not modified: specified new message content and reply markup are exactly the same/,
    )
    await api.editMessageReplyMarkup(7, 1, { reply_markup: new InlineKeyboard().text('Yes', 'y') })
    expect(telegram.screen(7)[0]?.editedTimes).toBe(1)
  })

  test('fails for a deleted message, and for one of a person', async () => {
    const { telegram, api } = await start()
    await api.sendMessage(7, 'one')
    telegram.remove(7, 1)
    expect(await refusal(api.editMessageText(7, 1, 'two'))).toBe('400 Bad Request: message to edit not found')
    const theirs = telegram.say(7, 'mine')
    expect(await refusal(api.editMessageText(7, theirs, 'two'))).toBe("400 Bad Request: message can't be edited")
  })
})

describe('a chat', () => {
  test('lets the bot delete a message once, within two days', async () => {
    const { telegram, api, clock } = await start()
    await api.sendMessage(7, 'one')
    await api.sendMessage(7, 'two')
    await api.deleteMessage(7, 1)
    expect(telegram.screen(7).map(({ text }) => text)).toEqual(['two'])
    expect(await refusal(api.deleteMessage(7, 1))).toBe('400 Bad Request: message to delete not found')
    await clock.advance(49 * 60 * 60 * 1000)
    expect(await refusal(api.deleteMessage(7, 2))).toMatch("400 Bad Request: message can't be deleted")
  })

  test('shows "typing…" for five seconds, or until a message comes', async () => {
    const { telegram, api, clock } = await start()
    await api.sendChatAction(7, 'typing')
    await clock.advance(4999)
    expect(telegram.typing(7)).toBe(true)
    await clock.advance(1)
    expect(telegram.typing(7)).toBe(false)
    await api.sendChatAction(7, 'typing')
    await api.sendMessage(7, 'here')
    expect(telegram.typing(7)).toBe(false)
  })

  test('takes one reaction of the bot, from the allowed ones', async () => {
    const { telegram, api } = await start()
    const said = telegram.say(7, 'hi')
    await api.setMessageReaction(7, said, [{ type: 'emoji', emoji: '👀' }])
    await api.setMessageReaction(7, said, [{ type: 'emoji', emoji: '👍' }])
    expect(telegram.screen(7)[0]?.reactions).toEqual(['👍'])
    const tick: { type: 'emoji'; emoji: '👍' } = JSON.parse('{"type":"emoji","emoji":"✅"}')
    expect(await refusal(api.setMessageReaction(7, said, [tick]))).toBe('400 Bad Request: REACTION_INVALID')
    await api.setMessageReaction(7, said, [])
    expect(telegram.screen(7)[0]?.reactions).toEqual([])
  })

  test('is found if it is one of those given', async () => {
    const { api } = await start({ chats: [{ id: 7 }] })
    expect(await api.getChat(7)).toEqual({ id: 7, type: 'private', first_name: 'Person' })
    expect(await refusal(api.sendMessage(8, 'x'))).toBe('400 Bad Request: chat not found')
  })

  test('whose person has blocked the bot rejects everything', async () => {
    const { telegram, api } = await start()
    telegram.block(7)
    expect(await refusal(api.sendMessage(7, 'x'))).toBe('403 Forbidden: bot was blocked by the user')
    telegram.block(7, false)
    expect(await refusal(api.sendMessage(7, 'x'))).toMatch('done')
  })
})

describe('the server', () => {
  test("accepts only its bot's token", async () => {
    const { telegram, api } = await start()
    expect(await api.getMe()).toMatchObject({ id: 42, is_bot: true })
    const stranger = new Api('42:guess', { apiRoot: telegram.url })
    expect(await refusal(stranger.getMe())).toBe('401 Unauthorized')
    expect(await (await fetch(`${telegram.url}/elsewhere`)).json()).toMatchObject({
      error_code: 404,
      description: 'Not Found',
    })
  })

  test('takes calls as JSON, as a form and in the URL', async () => {
    const { telegram } = await start()
    const url = `${telegram.url}/bot${token}/sendMessage`
    await fetch(url, { method: 'POST', body: new URLSearchParams({ chat_id: '7', text: 'form' }) })
    const form = new FormData()
    form.set('chat_id', '7')
    form.set('text', 'parts')
    await fetch(url, { method: 'POST', body: form })
    await fetch(`${url}?chat_id=7&text=address`)
    expect(telegram.screen(7).map(({ text }) => text)).toEqual(['form', 'parts', 'address'])
  })

  test('without a feature does not know its methods', async () => {
    const { telegram, api } = await start({ features: { richMessages: false, drafts: false } })
    const missing = '404 Not Found: method not found'
    expect(await refusal(api.raw.sendRichMessage({ chat_id: 7, rich_message: { markdown: 'a' } }))).toBe(missing)
    expect(await refusal(api.raw.sendMessageDraft({ chat_id: 7, draft_id: 1, text: 'a' }))).toBe(missing)
    await api.sendMessage(7, 'a')
    const edit = api.raw.editMessageText({ chat_id: 7, message_id: 1, rich_message: { markdown: 'b' } })
    expect(await refusal(edit)).toBe('400 Bad Request: message text is empty')
    expect([telegram.count('sendRichMessage'), telegram.count('sendMessage')]).toEqual([1, 1])
  })

  test('keeps a list of calls, and notifies observers of changes', async () => {
    const { telegram, api, clock } = await start()
    const changed: number[] = []
    const stop = telegram.observe((chatId) => changed.push(chatId))
    await api.sendMessage(7, 'one')
    stop()
    await refusal(api.sendMessage(8, ''))
    const at = clock.now()
    expect(telegram.calls).toEqual([
      { at, method: 'sendMessage', chatId: 7, ok: true, status: 200, payload: { chat_id: 7, text: 'one' } },
      {
        at,
        method: 'sendMessage',
        chatId: 8,
        ok: false,
        status: 400,
        description: 'Bad Request: message text is empty',
        payload: { chat_id: 8, text: '' },
      },
    ])
    expect(changed).toEqual([7])
  })

  test('clients whose addresses have something of their own after the url are told apart', async () => {
    const { telegram, api } = await start()
    const second = new Api(token, { apiRoot: `${telegram.url}/second` })
    await api.sendMessage(7, 'one')
    await second.sendMessage(7, 'two')
    expect(telegram.calls.map(({ root }) => root)).toEqual([undefined, '/second'])
  })
})
