import type { Inbound } from '@reply/sink'
import { describe, expect, test } from 'vitest'
import { telegramChannel } from '../src/index.ts'
import { start, until } from './bot.ts'

type Text = Extract<Inbound, { type: 'text' }>

async function open(onlyFiles?: boolean) {
  const started = await start({ chats: [{ id: -7 }, { id: 7 }] })
  const received: Inbound[] = []
  const channel = telegramChannel({
    api: started.api,
    clock: started.clock,
    updates: 'own' as const,
    onlyFiles,
    onInbound: (inbound) => received.push(inbound),
  })
  /** What the channel passes on of all that was said. */
  async function heard(count: number): Promise<readonly Text[]> {
    for (const update of await started.api.getUpdates()) await channel.handleUpdate(update)
    await until(() => received.length === count)
    return received.flatMap((one) => (one.type === 'text' ? [one] : []))
  }
  return { ...started, received, heard }
}

describe('a mention', () => {
  test.each([
    ['@fake_bot hi', 'hi'],
    ['@FAKE_BOT  two\n  lines', 'two\n  lines'],
    ['Look, @fake_bot', 'Look,'],
    ['Is @fake_bot  there?', 'Is  there?'],
    ['@fake_bot and @fake_bot again', 'and again'],
    ['@fake_bot', ''],
  ])('in "%s" is cut out', async (said, text) => {
    const { telegram, heard } = await open()
    telegram.say(-7, said)
    expect(await heard(1)).toMatchObject([{ text, isMention: true }])
  })

  test('of another bot or person is left in', async () => {
    const { telegram, heard } = await open()
    telegram.say(-7, '@other_bot hi')
    const [text] = await heard(1)
    expect(text).toMatchObject({ text: '@other_bot hi' })
    expect(text).not.toHaveProperty('isMention')
  })
})

test('a reply to a message of another person is not one to the bot', async () => {
  const { telegram, api, heard } = await open()
  const theirs = telegram.say(-7, 'one')
  const { message_id: ours } = await api.sendMessage(-7, 'two')
  telegram.say(-7, 'to a person', { replyTo: theirs })
  telegram.say(-7, 'to the bot', { replyTo: ours })
  const texts = await heard(3)
  expect(texts.map(({ replyTo, repliesToBot }) => [replyTo?.id, repliesToBot])).toEqual([
    [undefined, undefined],
    [String(theirs), undefined],
    [String(ours), true],
  ])
})

describe('files', () => {
  const bytes = new Uint8Array(3)

  test('of each kind come with the text, a photo in its largest size', async () => {
    const { telegram, heard } = await open()
    for (const kind of ['document', 'photo', 'voice', 'audio', 'video'] as const)
      telegram.say(7, kind, { file: { kind, bytes, name: `a.${kind}`, mime: 'x/y' } })
    const files = (await heard(5)).map((text) => text.files?.map(({ ref, ...rest }) => rest))
    expect(files).toEqual([
      [{ name: 'a.document', mime: 'x/y', size: 3 }],
      [{ name: 'photo.jpg', mime: 'image/jpeg', size: 3 }],
      [{ name: 'voice.ogg', mime: 'x/y', size: 3, seconds: 1 }],
      [{ name: 'a.audio', mime: 'x/y', size: 3, seconds: 1 }],
      [{ name: 'a.video', mime: 'x/y', size: 3, seconds: 1 }],
    ])
  })

  test('of an album share its id', async () => {
    const { telegram, heard } = await open(true)
    telegram.say(7, 'Both', { file: { bytes }, albumId: 'a1' })
    telegram.say(7, '', { file: { bytes }, albumId: 'a1' })
    const texts = await heard(2)
    expect(texts.map(({ text, albumID }) => [text, albumID])).toEqual([
      ['Both', 'a1'],
      ['', 'a1'],
    ])
  })

  test('without a text are dropped, unless the host asks for them', async () => {
    const { telegram, heard } = await open()
    telegram.say(7, '', { file: { bytes } })
    telegram.say(7, 'And a text')
    expect(await heard(1)).toMatchObject([{ text: 'And a text' }])
  })
})
