import { bubbleOf, type Demand, edit, failureOf, must, post, readsAs, remove, textsOn } from './stage.ts'

const canEdit: Demand['needs'] = ({ port }) => port.edit !== undefined && port.limits.edits
const canRemove: Demand['needs'] = ({ port }) => port.remove !== undefined

/** What each verb does when nothing fails. */
export const verbs = [
  {
    name: 'shows what was posted',
    run: async (stage) => {
      const ref = await post(stage, 'Hello there.')
      const [message, ...more] = stage.screen()
      must(message !== undefined && more.length === 0, `One message was posted, but the chat shows ${1 + more.length}.`)
      must(readsAs(message.text, 'Hello there.'), `It shows "${message.text}".`)
      must(message.id === ref.id, `The ref has the id ${ref.id}, the message ${message.id}.`)
    },
  },
  {
    name: 'shows posts in order',
    run: async (stage) => {
      for (const text of ['One.', 'Two.', 'Three.']) await post(stage, text)
      const texts = textsOn(stage)
      must(readsAs(texts.join(' '), 'One. Two. Three.'), `It shows ${texts.join(' | ')}.`)
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
      must(readsAs(texts.join(' '), 'After. Below.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'treats an edit without changes as done',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'The same.')
      await edit(stage, ref, 'The same.')
      const texts = textsOn(stage)
      must(texts.length === 1 && readsAs(texts[0], 'The same.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'does not notify for edits',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      const before = stage.notifications()
      await edit(stage, ref, 'After.')
      must(stage.notifications() === before, 'An edit caused a notification.')
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
      must(texts.length === 1 && readsAs(texts[0], 'Stays.'), `It shows ${texts.join(' | ')}.`)
    },
  },
  {
    name: 'treats the removal of a missing message as done',
    needs: canRemove,
    run: async (stage) => {
      const ref = await post(stage, 'Gone soon.')
      stage.deleteMessage(ref.id)
      await remove(stage, ref)
      must(stage.screen().length === 0, 'The chat still shows a message.')
    },
  },
  {
    name: 'notifies only for loud posts',
    needs: ({ port }) => port.limits.silent !== false,
    run: async (stage) => {
      await post(stage, 'Quiet.', { silent: true })
      must(stage.notifications() === 0, 'A silent post caused a notification.')
      await post(stage, 'Loud.', { silent: false })
      must(stage.notifications() === 1, `A loud post caused ${stage.notifications()} notifications.`)
      const kinds = stage.screen().map(({ isSilent }) => isSilent)
      must(kinds[0] === true && kinds[1] === false, 'The messages do not show which of them were silent.')
    },
  },
  {
    name: 'replies to a message',
    needs: ({ writeText }) => writeText !== undefined,
    run: async (stage) => {
      const asked = stage.writeText?.('A question.')
      must(asked !== undefined, 'The stage cannot send a message as a person.')
      await post(stage, 'An answer.', { replyTo: asked })
      const [message] = stage.screen()
      must(message?.replyTo === asked.id, `It replies to ${message?.replyTo ?? 'nothing'} instead of ${asked.id}.`)
    },
  },
  {
    name: 'shows buttons and removes them',
    needs: ({ port }) => port.limits.buttons !== undefined,
    run: async (stage) => {
      const most = stage.port.limits.buttons?.data ?? 0
      const data = 'd'.repeat(Math.min(24, most))
      const ref = await post(stage, 'Pick.', { buttons: [[{ label: 'Yes', data }], [{ label: 'No', data: 'no' }]] })
      const shown = stage.screen()[0]?.buttons.flat() ?? []
      must(shown.map(({ label }) => label).join() === 'Yes,No', 'The buttons have other labels, or another order.')
      must(shown.map((button) => button.data).join() === `${data},no`, 'The buttons carry other data.')
      if (!stage.port.edit || !stage.port.limits.edits) return
      await edit(stage, ref, 'Picked.')
      must(stage.screen()[0]?.buttons.flat().length === 0, 'An edit without buttons left them in place.')
    },
  },
  {
    name: 'accepts a message of the maximum length',
    run: async (stage) => {
      const text = 'x'.repeat(stage.port.limits.maxLength)
      await post(stage, text)
      must(textsOn(stage)[0] === text, 'The message differs from what was posted.')
    },
  },
  {
    name: 'shows plain text verbatim',
    run: async (stage) => {
      const text = '*not* _this_ [one](x) <b>&amp; \\'
      const bubble = bubbleOf(stage, text)
      const plain = { ...bubble, text: bubble.plain, isPlain: true }
      const { chat } = stage
      await stage.port.post(plain, { chat, silent: true, key: 'plain', signal: new AbortController().signal })
      must(readsAs(textsOn(stage)[0], bubble.plain), `It shows ${textsOn(stage)[0]} instead of ${bubble.plain}.`)
    },
  },
  {
    name: 'mentions only the people that it is given, above the text',
    needs: ({ mentions }) => mentions !== undefined,
    run: async (stage) => {
      const { chat, mentions } = stage
      must(mentions !== undefined, 'The stage has no mentions.')
      const bubble = { ...bubbleOf(stage, 'Allow **this**?'), mentions: [mentions.actor] }
      const options = { chat, silent: false, signal: new AbortController().signal }
      const bare = await stage.port.post({ ...bubble, mentions: undefined }, { ...options, key: 'm0' })
      must(mentions.in(bare.id).length === 0, 'A message without mentions mentions people.')
      const plain = { ...bubble, text: bubble.plain, isPlain: true }
      for (const [key, one] of Object.entries({ m1: bubble, m2: plain })) {
        const { id } = await stage.port.post(one, { ...options, key })
        must(mentions.in(id).join() === mentions.actor.id, `It mentions ${mentions.in(id).join() || 'no one'}.`)
        const text = stage.screen().find((message) => message.id === id)?.text ?? ''
        must(readsAs(text.split('\n').slice(1).join(' '), bubble.plain), `It shows "${text}".`)
      }
    },
  },
  {
    name: 'starts and stops typing',
    needs: ({ port }) => port.typing !== undefined && port.limits.typingMs !== undefined,
    run: async (stage) => {
      must(stage.port.typing !== undefined, 'The port has no `typing`.')
      const options = { chat: stage.chat, signal: new AbortController().signal }
      await stage.port.typing(true, options)
      await stage.port.typing(true, options)
      await stage.port.typing(false, options)
      must(stage.screen().length === 0, 'The call left a message.')
    },
  },
  {
    name: 'posts once per key',
    needs: ({ port }) => port.limits.idempotent,
    run: async (stage) => {
      const first = await post(stage, 'Only once.', { key: 'one-key' })
      const second = await post(stage, 'Only once.', { key: 'one-key' })
      must(stage.screen().length === 1, `The same key created ${stage.screen().length} messages.`)
      must(first.id === second.id, 'The second call returned another message.')
    },
  },
  {
    name: 'writes a preview that is not a message',
    needs: ({ port }) => port.stream?.kind === 'preview',
    run: async (stage) => {
      const { stream } = stage.port
      must(stream?.kind === 'preview', 'The port has no preview stream.')
      const options = { chat: stage.chat, signal: new AbortController().signal }
      await stream.write(bubbleOf(stage, 'It begins'), options)
      await stream.write(bubbleOf(stage, 'It begins, and goes on.'), options)
      must(stage.screen().length === 0, 'The call left a message.')
    },
  },
  {
    name: 'appends to a stream, which can be edited once closed',
    needs: (stage) => stage.port.stream?.kind === 'append' && stage.port.edit !== undefined,
    run: async (stage) => {
      const { stream } = stage.port
      must(stream?.kind === 'append', 'The port has no append stream.')
      const { chat } = stage
      const { signal } = new AbortController()
      const task = { id: 'one', title: 'bash: npm test', status: 'running' } as const
      const options = { chat, signal, silent: true, key: 'contract-stream' }
      const ref = await stream.open({ text: 'It begins', tasks: [task] }, options)
      must(readsAs(textsOn(stage).at(-1), 'It begins'), `It shows ${textsOn(stage).at(-1)}.`)
      await stream.append(ref, { text: ', goes on', tasks: [{ ...task, status: 'done' }] }, { chat, signal })
      await stream.append(ref, { text: '', tasks: [] }, { chat, signal })
      await stream.close(ref, { text: ', and ends.', tasks: [] }, { chat, signal })
      must(readsAs(textsOn(stage).at(-1), 'It begins, goes on, and ends.'), `It shows ${textsOn(stage).at(-1)}.`)
      must(stage.screen().length === 1, `The stream created ${stage.screen().length} messages.`)
      const closed = await failureOf(stream.append(ref, { text: 'More.', tasks: [] }, { chat, signal }))
      must(closed.type === 'fixed', `The error type of a closed stream is ${closed.type}.`)
      await edit(stage, ref, 'Other words.')
      must(readsAs(textsOn(stage).at(-1), 'Other words.'), `It shows ${textsOn(stage).at(-1)}.`)
    },
  },
  {
    name: 'reports a message that is gone',
    needs: canEdit,
    run: async (stage) => {
      const ref = await post(stage, 'Gone soon.')
      stage.deleteMessage(ref.id)
      const { type } = await failureOf(edit(stage, ref, 'Gone.'))
      must(type === 'gone', `The error type is ${type}.`)
    },
  },
  {
    name: 'reports a text that is too long',
    run: async (stage) => {
      const { type } = await failureOf(post(stage, 'x'.repeat(stage.port.limits.maxLength + 1)))
      must(type === 'too-long', `The error type is ${type}.`)
      must(stage.screen().length === 0, 'A message was posted anyway.')
    },
  },
] as const satisfies readonly Demand[]
