import { GrammyError } from 'grammy'
import { describe, expect, test } from 'vitest'
import { refusal, start } from './bot.ts'

const retryAfter = async (call: Promise<unknown>): Promise<number | undefined> => {
  try {
    await call
    return undefined
  } catch (error) {
    return error instanceof GrammyError && error.error_code === 429 ? error.parameters.retry_after : Number.NaN
  }
}

describe('a private chat', () => {
  test('takes a message every 1.1 s without end', async () => {
    const { telegram, api, clock } = await start()
    for (let each = 0; each < 50; each += 1) {
      await api.sendMessage(7, `${each}`)
      await clock.advance(1100)
    }
    expect(telegram.screen(7)).toHaveLength(50)
  })

  test('takes three sends, edits and drafts at once, then says how long to wait', async () => {
    const { telegram, api, clock } = await start()
    await api.sendMessage(7, 'one')
    await api.editMessageText(7, 1, 'two')
    await api.raw.sendMessageDraft({ chat_id: 7, draft_id: 1, text: 'three' })
    expect(await refusal(api.sendMessage(7, 'four'))).toBe('429 Too Many Requests: retry after 3')
    await clock.advance(1500)
    expect(await retryAfter(api.editMessageText(7, 1, 'four'))).toBe(2)
    await clock.advance(1500)
    expect(await retryAfter(api.sendMessage(7, 'four'))).toBeUndefined()
    expect(telegram.calls.filter(({ status }) => status === 429)).toHaveLength(2)
  })

  test('does not slow down another chat', async () => {
    const { api } = await start()
    for (let each = 0; each < 4; each += 1) await refusal(api.sendMessage(7, 'x'))
    expect(await retryAfter(api.sendMessage(8, 'x'))).toBeUndefined()
  })

  test('does not count calls that the Bot API rejects itself', async () => {
    const { api } = await start()
    for (let each = 0; each < 5; each += 1) await refusal(api.sendMessage(7, '<b', { parse_mode: 'HTML' }))
    expect(await retryAfter(api.sendMessage(7, 'x'))).toBeUndefined()
  })

  test('has a separate budget for "typing…"', async () => {
    const { api } = await start()
    for (let each = 0; each < 4; each += 1) await refusal(api.sendMessage(7, 'x'))
    for (let each = 0; each < 5; each += 1) expect(await retryAfter(api.sendChatAction(7, 'typing'))).toBeUndefined()
    expect(await retryAfter(api.sendChatAction(7, 'typing'))).toBe(5)
  })
})

describe('a group', () => {
  test('takes 20 messages a minute', async () => {
    const { api, clock } = await start()
    for (let each = 0; each < 20; each += 1) {
      await api.sendMessage(-7, `${each}`)
      await clock.advance(1100)
    }
    expect(await retryAfter(api.sendMessage(-7, 'more'))).toBe(38)
    await clock.advance(38_000)
    expect(await retryAfter(api.sendMessage(-7, 'more'))).toBeUndefined()
  })

  test('takes a message every 3.1 s without end', async () => {
    const { telegram, api, clock } = await start()
    for (let each = 0; each < 50; each += 1) {
      await api.sendMessage(-7, `${each}`)
      await clock.advance(3100)
    }
    expect(telegram.screen(-7)).toHaveLength(50)
  })
})

describe('a bot', () => {
  test('sends 30 messages a second to all chats', async () => {
    const { api, clock } = await start()
    for (let each = 1; each <= 30; each += 1) await api.sendMessage(each, 'x')
    expect(await retryAfter(api.sendMessage(31, 'x'))).toBe(1)
    await clock.advance(1000)
    expect(await retryAfter(api.sendMessage(31, 'x'))).toBeUndefined()
  })
})
