import type { Demand } from '@reply/core/testing'
import * as z from 'zod'
import type { Inbound } from '../../inbound/inbound.ts'
import { NotTakenError } from '../../inbound/receive.ts'
import { settledDelivery, startReply } from './acting.ts'
import { type BridgeStage, createHost, errorMessageOf, fieldsIn, receivedText, withConnection } from './bridge-stage.ts'
import { replyOf } from './script.ts'
import { failureOf, must, readsAs, until } from './stage.ts'

const bytes = new TextEncoder().encode('The content of a file.')

/** What each channel for a bridge must do. Uses the system's clock. */
export const bridging = [
  {
    name: 'describes each field of its config, and refuses others',
    run: async ({ channel: { schema, type }, config }) => {
      must(schema.safeParse(config).success, 'It refuses the config.')
      must(!schema.safeParse({ ...config, 'no such': 1 }).success, 'It takes an unknown field.')
      must(config.type === type, 'The type of the config is another one.')
      const lacks = fieldsIn(z.toJSONSchema(schema)).filter(({ description }) => !description)
      must(lacks.length === 0, `No description: ${lacks.map(({ name }) => name).join(', ')}.`)
    },
  },
  {
    name: 'returns the name of the bot',
    run: async (stage) => {
      const { account } = await stage.channel.check(
        stage.channel.schema.parse(stage.config),
        createHost(
          stage,
          () => {},
          () => {},
        ),
      )
      must(account === stage.account, `The name is "${account}".`)
    },
  },
  {
    name: 'refuses a wrong token when it checks and when it starts, without naming it',
    run: async (stage) => {
      const wrong = { ...stage, secret: (name: string) => `${stage.secret(name)}wrong` }
      const config = stage.channel.schema.parse(stage.config)
      const host = createHost(
        wrong,
        () => {},
        () => {},
      )
      const checked = await errorMessageOf(stage.channel.check(config, host))
      const connection = await stage.channel.create(config, host)
      const unstarted = await errorMessageOf(connection.check())
      const started = await errorMessageOf(Promise.resolve(connection.start()))
      await connection.stop()
      for (const reason of [checked, unstarted, started]) {
        must(reason !== undefined, 'It accepts a wrong token.')
        must(/token/i.test(reason) && reason.length > 20, `Its error does not say what is wrong: "${reason}".`)
        must(!reason.includes(stage.secret('TOKEN')), 'Its error names the token.')
      }
    },
  },
  {
    name: 'passes on texts with and without a mention, and removes the mention',
    run: async (stage) => {
      await withConnection(stage, async (at) => {
        await stage.writeText({ text: 'Only said.' })
        const sent = await receivedText(at, 1)
        must(sent.text === 'Only said.' && sent.isMention === undefined, `It passed on ${JSON.stringify(sent)}.`)
        must(sent.chat.id === stage.chat.id, `It passed on chat ${sent.chat.id}.`)
        if (stage.mentions === false) return
        await stage.writeText({ text: 'Look  at\nthis.', isMention: true })
        const { text, isMention } = await receivedText(at, 2)
        must(text === 'Look  at\nthis.' && isMention === true, `It passed on ${JSON.stringify({ text, isMention })}.`)
      })
    },
  },
  {
    name: 'reports that a text replies to a message of the bot',
    needs: ({ hasReplies }) => hasReplies !== false,
    run: async (stage) => {
      await withConnection(stage, async (at) => {
        const [ref] = await at.connection.post({ chat: stage.chat, text: 'A note.' })
        must(ref !== undefined, 'It posted no message.')
        await stage.writeText({ text: 'A reply.', replyTo: ref })
        const { replyTo, repliesToBot } = await receivedText(at, 1)
        must(
          replyTo?.id === ref.id && repliesToBot === true,
          `It passed on ${JSON.stringify({ replyTo, repliesToBot })}.`,
        )
      })
    },
  },
  {
    name: 'says whether people can reply to a single message',
    run: async (stage) => {
      await withConnection(stage, async ({ connection: { hasNoReplies } }) => {
        must((hasNoReplies === true) === (stage.hasReplies === false), `It says ${hasNoReplies ? 'no' : 'yes'}.`)
      })
    },
  },
  {
    name: 'passes on a message that only has a file, which can be downloaded up to a size',
    run: async (stage) => {
      await withConnection(stage, async (at) => {
        await stage.writeText({ text: '', file: { name: 'notes.txt', bytes } })
        const { text, files: [file, ...more] = [] } = await receivedText(at, 1)
        must(
          text === '' && more.length === 0 && file?.name === 'notes.txt',
          `It passed on ${JSON.stringify([text, file])}.`,
        )
        must(file.size === undefined || file.size === bytes.length, `It says that the file has ${file.size} bytes.`)
        const kept: unknown = JSON.parse(JSON.stringify(file))
        must(JSON.stringify(kept) === JSON.stringify(file), 'A file can not be kept as JSON.')
        const read = await at.connection.download(file, { maxBytes: bytes.length })
        must(new TextDecoder().decode(read) === new TextDecoder().decode(bytes), 'It read another content.')
        const { size: _, ...unsized } = file
        for (const one of [file, unsized]) {
          const { type } = await failureOf(at.connection.download(one, { maxBytes: 5 }))
          must(type === 'too-long', `The error type of a file that is too large is ${type}.`)
        }
      })
    },
  },
  {
    name: 'links to a message over https and without secrets, or not at all',
    run: async (stage) => {
      await withConnection(stage, async ({ connection }) => {
        const [ref] = await connection.post({ chat: stage.chat, text: 'A note.' })
        for (const message of [ref, undefined]) {
          const link = await connection.linkTo?.(stage.chat, message)
          if (link === undefined) continue
          must(URL.canParse(link) && new URL(link).protocol === 'https:', `The link is "${link}".`)
          must(!link.includes(stage.secret('TOKEN')), 'The link has the token.')
        }
      })
    },
  },
  {
    name: 'posts a note with buttons, and edits it',
    run: async (stage) => {
      await withConnection(stage, async ({ connection, received }) => {
        const buttons = [[{ label: 'One', data: 'b:1' }], [{ label: 'Two', data: 'b:2' }]]
        const [ref, ...more] = await connection.post({ chat: stage.chat, text: '**Pick** one.', buttons })
        const [message] = stage.screen()
        must(ref !== undefined && more.length === 0 && message?.id === ref.id, 'It did not post one message.')
        must(readsAs(message.text, 'Pick one.') || message.text.includes('Pick'), `It shows "${message.text}".`)
        if (stage.press) {
          must(
            message.buttons
              .flat()
              .map(({ label }) => label)
              .join() === 'One,Two',
            'It shows other buttons.',
          )
          await stage.press('Two')
          await until({}, { isDone: () => received.length > 0, withinMs: 20_000, message: 'It passed on no press.' })
          const [press] = received
          must(press?.type === 'press' && press.token === 'b:2', `It passed on ${JSON.stringify(press)}.`)
          must(press.isForeign === true, 'The press is not foreign.')
          must(press.messageRef.id === ref.id, `The press names message ${press.messageRef.id}, not ${ref.id}.`)
        }
        const edited = await errorMessageOf(connection.edit(ref, { chat: stage.chat, text: 'Picked.' }))
        const last = stage.screen().at(-1)
        must(edited !== undefined || readsAs(last?.text, 'Picked.'), `It shows "${last?.text}".`)
        must(edited !== undefined || last?.buttons.length === 0, 'An edit without buttons left them in place.')
      })
    },
  },
  {
    name: 'shows the typing notice',
    needs: ({ isTyping }) => isTyping !== undefined,
    run: async (stage) => {
      await withConnection(stage, async ({ connection }) => {
        await connection.typing(stage.chat)
        must(stage.isTyping?.() === true, 'The chat shows no typing notice.')
        must(stage.screen().length === 0, 'The call left a message.')
      })
    },
  },
  {
    name: 'shows a reply in its chat',
    run: async (stage) => {
      await withConnection(stage, async ({ connection }) => {
        const sink = connection.sinkFor({ chat: stage.chat }, { policy: { statusAfterMs: 3_600_000 } })
        startReply(sink, replyOf('An answer.', { isSettled: true }))
        await settledDelivery({}, sink)
        await sink.stop()
        must(
          stage.screen().some(({ text }) => readsAs(text, 'An answer.')),
          'The chat does not show the answer.',
        )
      })
    },
  },
  {
    name: 'fills the menu of commands',
    needs: ({ commands }) => commands !== undefined,
    run: async (stage) => {
      await withConnection(stage, async ({ connection }) => {
        await connection.setCommands?.([
          { name: 'new', description: 'Begins another session.' },
          { name: 'stop', description: 'Ends the run.' },
        ])
        must(stage.commands?.().join() === 'new,stop', `The menu has ${stage.commands?.().join()}.`)
      })
    },
  },
  {
    name: 'receives again after a stop',
    run: async (stage) => {
      await withConnection(stage, async (at) => {
        await stage.writeText({ text: 'One.' })
        await receivedText(at, 1)
        await at.connection.stop()
        await at.connection.start()
        await stage.writeText({ text: 'Two.' })
        const { text } = await receivedText(at, 2)
        must(text === 'Two.', `It passed on "${text}".`)
      })
    },
  },
  {
    name: 'receives messages that were written while it was stopped',
    needs: ({ keepsMessages }) => keepsMessages === true,
    run: async (stage) => {
      await withConnection(stage, async (at) => {
        await at.connection.stop()
        await stage.writeText({ text: 'Meanwhile.' })
        await at.connection.start()
        const { text } = await receivedText(at, 1)
        must(text === 'Meanwhile.', `It passed on "${text}".`)
      })
    },
  },
  {
    name: 'has the platform redeliver what the host did not take',
    run: async (stage) => {
      const receivedTexts: string[] = []
      const config = stage.channel.schema.parse(stage.config)
      let refused = 0
      const onInbound = (inbound: Inbound): void => {
        if (refused === 0) {
          refused += 1
          throw new NotTakenError()
        }
        if (inbound.type === 'text') receivedTexts.push(inbound.text)
      }
      const connection = await stage.channel.create(
        config,
        createHost(stage, onInbound, () => {}),
      )
      try {
        await connection.start()
        await stage.writeText({ text: 'For the next one.' })
        await until({}, { isDone: () => refused === 1, withinMs: 20_000, message: 'It passed on nothing.' })
        await connection.stop()
        await connection.start()
        await until({}, { isDone: () => receivedTexts.length > 0, withinMs: 20_000, message: 'It did not come again.' })
        must(receivedTexts.join() === 'For the next one.', `It passed on "${receivedTexts.join()}".`)
      } finally {
        await connection.stop()
      }
    },
  },
] as const satisfies readonly Demand<BridgeStage>[]
