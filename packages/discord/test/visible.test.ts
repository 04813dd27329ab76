import { expect, test } from 'vitest'
import { dialogOf } from '../src/form.ts'
import { createDiscordPort } from '../src/internal.ts'
import { bubble, channelId, posting, start } from './bot.ts'

const hidden = 'Del\u202eete\u200b'
const shown = 'Del\\u202eete\\u200b'

test("hidden characters in a dialog's title, fields and options are made visible; option values keep them", () => {
  const question = {
    header: hidden,
    question: `${hidden}?`,
    multiple: false,
    custom: false,
    options: [{ label: hidden, description: hidden }],
  }
  const dialog = dialogOf({ token: 't', label: hidden, questions: [question] })
  expect(dialog).toMatchObject({
    title: shown,
    components: [
      {
        label: shown,
        description: `${shown}?`,
        component: { options: [{ label: shown, description: shown, value: hidden }] },
      },
    ],
  })
})

test("hidden characters in a thread's name are made visible", async () => {
  const { discord, rest, clock } = await start()
  const messageId = discord.say(channelId, 'Why?')
  const port = createDiscordPort({ rest, channelId, clock, thread: { messageId, name: hidden } })
  await port.post(bubble('a'), posting)
  expect(discord.threads(channelId)).toEqual([{ id: messageId, name: shown }])
})
