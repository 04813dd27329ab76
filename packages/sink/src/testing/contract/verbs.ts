import { bubbleOf, type Demand, edit, failureOf, must, post, reads, remove, textsOn } from './stage.ts'

const canEdit: Demand['needs'] = ({ port }) => port.edit !== undefined && port.limits.edits
const canRemove: Demand['needs'] = ({ port }) => port.remove !== undefined

/** What each verb does when nothing fails. */
export const verbs = [
  {
    name: 'shows what was posted',
    run: async (stage) => {
      const ref = await post(stage, 'Hello there.')
      const [message, ...more] = stage.screen()
      must(message !== undefined && more.length === 0, `One message was posted, the chat shows ${1 + more.length}.`)
      must(reads(message.text, 'Hello there.'), `It shows "${message.text}".`)
      must(message.id === ref.id, `It is called ${ref.id}, and is ${message.id}.`)
    },
  },
  {
    name: 'shows posts in their order',
    run: async (stage) => {
      for (const words of ['One.', 'Two.', 'Three.']) await post(stage, words)
      const texts = textsOn(stage)
      must(reads(texts.join(' '), 'One. Two. Three.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'edits in place',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      await post(stage, 'Below.')
      await edit(stage, ref, 'After.')
      const texts = textsOn(stage)
      must(reads(texts.join(' '), 'After. Below.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'takes an edit to the same for done',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'The same.')
      await edit(stage, ref, 'The same.')
      const texts = textsOn(stage)
      must(texts.length === 1 && reads(texts[0], 'The same.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'rings for no edit',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      const before = stage.notifications()
      await edit(stage, ref, 'After.')
      must(stage.notifications() === before, 'An edit rang.')
    },
  },
  {
    name: 'removes',
    needs: canRemove,
    run: async (stage) => {
      const ref = await post(stage, 'Gone soon.')
      await post(stage, 'Stays.')
      await remove(stage, ref)
      const texts = textsOn(stage)
      must(texts.length === 1 && reads(texts[0], 'Stays.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'takes the removal of what is gone for done',
    needs: canRemove,
    run: async (stage) => {
      const ref = await post(stage, 'Gone soon.')
      stage.deleteMessage(ref.id)
      await remove(stage, ref)
      must(stage.screen().length === 0, 'Something is there.')
    },
  },
  {
    name: 'rings for what is loud alone',
    needs: ({ port }) => port.limits.silent !== false,
    run: async (stage) => {
      await post(stage, 'Quiet.', { silent: true })
      must(stage.notifications() === 0, 'A silent post rang.')
      await post(stage, 'Loud.', { silent: false })
      must(stage.notifications() === 1, `A loud post rang ${stage.notifications()} times.`)
      const kinds = stage.screen().map(({ isSilent }) => isSilent)
      must(kinds[0] === true && kinds[1] === false, 'The messages are not seen as they were posted.')
    },
  },
  {
    name: 'answers a message',
    needs: ({ say }) => say !== undefined,
    run: async (stage) => {
      const asked = stage.say?.('A question.')
      must(asked !== undefined, 'Nobody can say anything.')
      await post(stage, 'An answer.', { replyTo: asked })
      const [message] = stage.screen()
      must(message?.replyTo === asked.id, `It answers ${message?.replyTo ?? 'nothing'} instead of ${asked.id}.`)
    },
  },
  {
    name: 'shows buttons, and takes them away',
    needs: ({ port }) => port.limits.buttons !== undefined,
    run: async (stage) => {
      const most = stage.port.limits.buttons?.data ?? 0
      const data = 'd'.repeat(Math.min(24, most))
      const ref = await post(stage, 'Pick.', { buttons: [[{ label: 'Yes', data }], [{ label: 'No', data: 'no' }]] })
      const shown = stage.screen()[0]?.buttons.flat() ?? []
      must(shown.map(({ label }) => label).join() === 'Yes,No', 'Its buttons have other labels, or another order.')
      must(shown.map((button) => button.data).join() === `${data},no`, 'Its buttons carry something else.')
      if (!stage.port.edit || !stage.port.limits.edits) return
      await edit(stage, ref, 'Picked.')
      must(stage.screen()[0]?.buttons.flat().length === 0, 'The buttons are still there after an edit without any.')
    },
  },
  {
    name: 'takes a message of the greatest length',
    run: async (stage) => {
      const words = 'x'.repeat(stage.port.limits.maxLength)
      await post(stage, words)
      must(textsOn(stage)[0] === words, 'It is not there as it was posted.')
    },
  },
  {
    name: 'shows text without markup as it is',
    run: async (stage) => {
      const words = '*not* _this_ [one](x) <b>&amp; \\'
      const bubble = bubbleOf(stage, words)
      const plain = { ...bubble, text: bubble.plain, isPlain: true }
      const { chat } = stage
      await stage.port.post(plain, { chat, silent: true, key: 'plain', signal: new AbortController().signal })
      must(reads(textsOn(stage)[0], bubble.plain), `It shows ${textsOn(stage)[0]} instead of ${bubble.plain}.`)
    },
  },
  {
    name: 'types, and stops it',
    needs: ({ port }) => port.typing !== undefined && port.limits.typingMs !== undefined,
    run: async (stage) => {
      must(stage.port.typing !== undefined, 'It has no typing.')
      const options = { chat: stage.chat, signal: new AbortController().signal }
      await stage.port.typing(true, options)
      await stage.port.typing(true, options)
      await stage.port.typing(false, options)
      must(stage.screen().length === 0, 'It left a message.')
    },
  },
  {
    name: 'posts a file with its words',
    needs: ({ port }) => port.upload !== undefined,
    run: async (stage) => {
      must(stage.port.upload !== undefined, 'It has no upload.')
      const file = { name: 'code-1.ts', text: 'const a = 1\n', caption: 'A file.' }
      const { chat } = stage
      const { signal } = new AbortController()
      const ref = await stage.port.upload(file, { chat, silent: true, key: 'file', signal })
      const [message] = stage.screen()
      must(message?.id === ref.id, `It is called ${ref.id}, and is ${message?.id}.`)
      must(message.text.includes('A file.'), `Its words are "${message.text}".`)
    },
  },
  {
    name: 'posts once for one key',
    needs: ({ port }) => port.limits.idempotent,
    run: async (stage) => {
      const first = await post(stage, 'Only once.', { key: 'one-key' })
      const second = await post(stage, 'Only once.', { key: 'one-key' })
      must(stage.screen().length === 1, `The same key made ${stage.screen().length} messages.`)
      must(first.id === second.id, 'The second try names another message.')
    },
  },
  {
    name: 'writes a preview that is no message',
    needs: ({ port }) => port.stream?.kind === 'preview',
    run: async (stage) => {
      const { stream } = stage.port
      must(stream?.kind === 'preview', 'It has no preview.')
      const options = { chat: stage.chat, signal: new AbortController().signal }
      await stream.write(bubbleOf(stage, 'It begins'), options)
      await stream.write(bubbleOf(stage, 'It begins, and goes on.'), options)
      must(stage.screen().length === 0, 'It left a message.')
    },
  },
  {
    name: 'adds to a stream, which can be edited when it is closed',
    needs: (stage) => stage.port.stream?.kind === 'append' && stage.port.edit !== undefined,
    run: async (stage) => {
      const { stream } = stage.port
      must(stream?.kind === 'append', 'It has no stream.')
      const { chat } = stage
      const { signal } = new AbortController()
      const task = { id: 'one', title: 'bash: npm test', status: 'running' } as const
      const options = { chat, signal, silent: true, key: 'contract-stream' }
      const ref = await stream.open({ text: 'It begins', tasks: [task] }, options)
      must(reads(textsOn(stage).at(-1), 'It begins'), `It shows ${textsOn(stage).at(-1)}.`)
      await stream.append(ref, { text: ', goes on', tasks: [{ ...task, status: 'done' }] }, { chat, signal })
      await stream.append(ref, { text: '', tasks: [] }, { chat, signal })
      await stream.close(ref, { text: ', and ends.', tasks: [] }, { chat, signal })
      must(reads(textsOn(stage).at(-1), 'It begins, goes on, and ends.'), `It shows ${textsOn(stage).at(-1)}.`)
      must(stage.screen().length === 1, `It made ${stage.screen().length} messages.`)
      const closed = await failureOf(stream.append(ref, { text: 'More.', tasks: [] }, { chat, signal }))
      must(closed.type === 'fixed', `What was closed says ${closed.type}.`)
      await edit(stage, ref, 'Other words.')
      must(reads(textsOn(stage).at(-1), 'Other words.'), `It shows ${textsOn(stage).at(-1)}.`)
    },
  },
  {
    name: 'tells that a message is gone',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'Gone soon.')
      stage.deleteMessage(ref.id)
      const { type } = await failureOf(edit(stage, ref, 'Gone.'))
      must(type === 'gone', `It says ${type}.`)
    },
  },
  {
    name: 'tells that a text is too long',
    run: async (stage) => {
      const { type } = await failureOf(post(stage, 'x'.repeat(stage.port.limits.maxLength + 1)))
      must(type === 'too-long', `It says ${type}.`)
      must(stage.screen().length === 0, 'It posted something nevertheless.')
    },
  },
] as const satisfies readonly Demand[]
