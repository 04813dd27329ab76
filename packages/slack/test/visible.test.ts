import { texts } from '@reply/sink'
import { expect, test } from 'vitest'
import { modalOf } from '../src/form.ts'
import { messageContent } from '../src/port.ts'

const hidden = 'Del\u202eete\u200b'
const shown = { type: 'plain_text', text: 'Del\\u202eete\\u200b' }
const options = [{ label: hidden, description: hidden }]
const place = { channel: 'C1', thread: undefined, message: '1.1' }

test("hidden characters in a dialog's title, fields and options are made visible", () => {
  const question = { header: hidden, question: hidden, multiple: false, custom: false, options }
  const modal = modalOf({ token: 't', label: hidden, questions: [question] }, { place, texts })
  const element = { options: [{ text: shown, description: shown, value: '0' }] }
  expect(modal).toMatchObject({ title: shown, blocks: [{ label: shown, element }] })
})

test("hidden characters in a message's options and buttons are made visible; option values keep them", () => {
  const question = { header: '', question: 'Which?', multiple: false, custom: false, options }
  const form = { token: 't', label: hidden, questions: [question] }
  const bubble = { text: 'a', plain: 'a', length: 1, source: 'a', isPlain: false, form }
  const { blocks } = messageContent({ ...bubble, buttons: [[{ label: hidden, data: 'd' }]] })
  expect(blocks).toMatchObject([
    {},
    { elements: [{ text: shown, value: 'd' }] },
    { elements: [{ placeholder: shown, options: [{ text: shown, value: hidden }] }] },
  ])
})
