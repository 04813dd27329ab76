import { isOpenCode2 } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  answerOf,
  type Client,
  type PostedPrompt,
  type PromptInput,
  partsOf,
  pendingAsks,
  type Reply,
  type ReplyStream,
  textOf,
  toolsOf,
} from '../../src/index.ts'
import { createListener } from '../recorded/picture.ts'
import { firstAsk } from './scenes.ts'
import { openStage, type Stage } from './server.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

/** A process that dies: what it had written down of its prompt is all that is left. */
interface Dead {
  readonly posted: PostedPrompt
  readonly sessionID: string
}

/** Kills a process at each stage of a prompt, on a real server: the next one finds the run, and nothing runs twice. */
export function testResume(version: string): void {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ version })
  })
  afterAll(async () => await stage.close())

  describe(`a prompt of an earlier process, on ${version}`, () => {
    test('that died before the post is absent, and posted once', async () => {
      const { posted } = await dieOnPosting()
      const next = stage.open()
      expect((await next.resume(posted)).type).toBe('absent')
      const reply = await next.prompt(again(posted)).result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello there.'])
      expect(runsOf(posted)).toBe(1)
    })

    test.each([0, 1, 3, 10, 30])(
      'that died %d ms after it began to post is found, or absent and posted: once',
      async (ms) => {
        const { posted } = await dieInPost(ms)
        const next = stage.open()
        const resumed = await next.resume(posted)
        const stream = resumed.type === 'found' ? resumed.stream : next.prompt(again(posted))
        const reply = await stream.result
        expect([reply.outcome, textOf(reply), stream.joined]).toEqual(['completed', 'Hello there.', false])
        expect(runsOf(posted)).toBe(1)
      },
    )

    test('that died when its post was answered is found', async () => {
      const { posted } = await dieWhenPosted()
      const next = stage.open()
      const reply = await found(await next.resume(posted)).result
      expect([reply.outcome, textOf(reply), runsOf(posted)]).toEqual(['completed', 'Hello there.', 1])
    })

    // What a server has that was killed between storing a prompt and running it. OpenCode 2 runs it after its next start.
    test.skipIf(isOpenCode2(version))(
      'that is stored and never ran is posted again under its id, and runs once',
      async () => {
        const [posted, text] = await stored()
        const next = stage.open()
        const repeated = {
          ...again(posted),
          files: [{ url: 'data:text/plain,Hi', mime: 'text/plain', filename: 'a.txt' }],
        }
        const stream = found(await next.resume(posted, { again: () => repeated }))
        const reply = await stream.result
        expect([reply.outcome, textOf(reply), stream.joined]).toEqual(['completed', 'Hello there.', false])
        expect(runsOf(posted)).toBe(1)
        const [step] = stage.model.requests.filter(
          ({ kind, body }) => kind === 'step' && JSON.stringify(body).includes(text),
        )
        expect(JSON.stringify(step?.body).split(text)).toHaveLength(2)
        // Once more, as after another crash.
        expect((await next.resume(posted, { again: () => repeated })).type).toBe('found')
        expect(runsOf(posted)).toBe(1)
      },
    )

    test('that died in mid-turn is followed to its end', async () => {
      const dead = await dieInTurn('gap')
      const next = stage.open()
      const { heard, observer } = createListener()
      const stream = found(await next.resume(dead.posted, { observe: () => [observer] }))
      expect([stream.joined, stream.reply?.phase]).toEqual([false, 'working'])
      // Neither server repeats what it wrote before.
      expect(textsIn(stream.reply)).toEqual([{ status: 'open', text: '', holes: [0] }])
      stage.model.release('gap')
      const reply = await stream.result
      expect(textsIn(reply)).toEqual([{ status: 'sealed', text: 'One two.', holes: undefined }])
      expect([reply.outcome, textOf(reply), heard.settled, heard.problems]).toEqual(['completed', 'One two.', 1, []])
      expect(runsOf(dead.posted)).toBe(1)
    })

    test('that died in mid-turn can be stopped', async () => {
      const dead = await dieInTurn('forever')
      const next = stage.open()
      const reply = await found(await next.resume(dead.posted)).abort()
      expect(reply.outcome).toBe('aborted')
    })

    test('that died while it asked has its ask again', async () => {
      const { posted } = await dieWhen('permission', async (stream) => void (await firstAsk(stream)))
      const next = stage.open()
      const stream = found(await next.resume(posted))
      const [ask] = stream.reply ? pendingAsks(stream.reply) : []
      if (!ask) throw new Error('The resumed reply has no ask.')
      await next.answer(ask, 'once')
      const reply = await stream.result
      expect([reply.outcome, answerOf(reply)]).toEqual(['completed', 'Done so.'])
    })

    test('that died after the end is settled as it ended', async () => {
      const live = await die('plain')
      const next = stage.open()
      const { heard, observer } = createListener()
      const stream = found(await next.resume(live.posted, { observe: () => [observer] }))
      const reply = await stream.result
      expect([pictureOf(reply), heard.settled, heard.problems]).toEqual([pictureOf(live.reply), 1, []])
    })

    test("is settled as it ended after another client's run, and that goes on", async () => {
      const live = await die('child', async ({ opencode, stream }) => {
        await opencode.answer(await firstAsk(stream), 'once')
      })
      const other = stage.open()
      const later = other.prompt({ text: words('pause'), sessionID: live.posted.sessionID })
      await spoken(later)
      const stream = found(await stage.open().resume(live.posted))
      expect(pictureOf(await stream.result)).toEqual(pictureOf(live.reply))
      stage.model.release('pause')
      expect(textOf(await later.result)).toBe('One two.')
    })

    test('that joined a run is found in it', async () => {
      const other = stage.open()
      const running = other.prompt({ text: words('watched') })
      await spoken(running)
      const { posted } = await dieWhenPosted({ sessionID: running.reply?.sessionID })
      const next = stage.open()
      const stream = found(await next.resume(posted))
      stage.model.release('watched')
      const reply = await stream.result
      expect([reply.outcome, textOf(reply).endsWith('Hello there.')]).toEqual(['completed', true])
      expect(stream.joined).toBe(reply.promptIDs.length > 1)
      await running.result
    })

    test('is gone with its session', async () => {
      const posted = { sessionID: 'ses_0000000000000000000000000', messageID: 'msg_1', at: 0 }
      await expect(stage.open().resume(posted)).rejects.toMatchObject({ type: 'gone' })
    })

    test('is the reply that is known here, if it was prompted here', async () => {
      const opencode = stage.open()
      let posted: PostedPrompt | undefined
      const stream = opencode.prompt(
        { text: words('plain') },
        {
          onPosting: (given) => {
            posted = given
          },
        },
      )
      await stream.result
      if (!posted) throw new Error('onPosting was not called.')
      const resumed = found(await opencode.resume(posted))
      expect([resumed.reply, resumed.joined]).toEqual([await opencode.reply(posted.sessionID), false])
    })
  })

  let count = 0

  /** Different each time, to be found again. */
  function words(name: string): string {
    count += 1
    return `Go, number ${count}. [scenario:${name}]`
  }

  /** The process writes its prompt down, and dies before it posts. */
  async function dieOnPosting(): Promise<Dead> {
    const opencode = stage.open()
    const posted = await new Promise<PostedPrompt>((resolve) => {
      opencode.prompt(
        { text: words('plain') },
        {
          onPosting: async (given) => {
            await opencode.close()
            resolve(given)
          },
        },
      )
    })
    return { posted, sessionID: posted.sessionID }
  }

  /** Only stored, by a prompt for which nothing runs. */
  async function stored(): Promise<readonly [PostedPrompt, string]> {
    const opencode = stage.open()
    const text = words('plain')
    let posted: PostedPrompt | undefined
    const onPosting = (given: PostedPrompt): void => {
      posted = given
    }
    await opencode.prompt({ text, noReply: true }, { onPosting }).result
    await opencode.close()
    if (!posted) throw new Error('onPosting was not called.')
    return [{ ...posted, noReply: undefined }, text]
  }

  /** The process dies so long after its request has left. */
  async function dieInPost(ms: number): Promise<Dead> {
    return await dieAround(async (request, opencode) => {
      const answered = request().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, ms))
      await opencode.close()
      await answered
    })
  }

  async function dieWhenPosted(input: Partial<PromptInput> = {}): Promise<Dead> {
    return await dieAround(async (request, opencode) => {
      await request()
      await opencode.close()
    }, input)
  }

  async function dieAround(
    around: (request: () => Promise<Response>, opencode: Client) => Promise<void>,
    input: Partial<PromptInput> = {},
  ): Promise<Dead> {
    let posted: PostedPrompt | undefined
    await new Promise<void>((resolve) => {
      const opencode = stage.open({
        fetch: async (url, init) => {
          const request = new Request(url, init)
          if (request.method !== 'POST' || !/\/prompt(_async)?$/.test(new URL(request.url).pathname))
            return await fetch(request)
          const answer = fetch(request)
          void around(async () => (await answer).clone(), opencode).then(resolve)
          return await answer
        },
      })
      opencode.prompt(
        { text: words('plain'), ...input },
        {
          onPosting: (given) => {
            posted = given
          },
        },
      )
    })
    if (!posted) throw new Error('onPosting was not called.')
    return { posted, sessionID: posted.sessionID }
  }

  async function dieInTurn(name: string): Promise<Dead> {
    return await dieWhen(name, spoken)
  }

  async function dieWhen(name: string, when: (stream: ReplyStream) => Promise<void>): Promise<Dead> {
    const opencode = stage.open()
    let posted: PostedPrompt | undefined
    const stream = opencode.prompt(
      { text: words(name) },
      {
        onPosting: (given) => {
          posted = given
        },
      },
    )
    await when(stream)
    await opencode.close()
    if (!posted) throw new Error('onPosting was not called.')
    return { posted, sessionID: posted.sessionID }
  }

  async function die(
    name: string,
    act?: (scene: { readonly opencode: Client; readonly stream: ReplyStream }) => Promise<void>,
  ): Promise<Dead & { readonly reply: Reply }> {
    let reply: Reply | undefined
    const dead = await dieWhen(name, async (stream) => {
      await act?.({ opencode: stage.opencode, stream })
      reply = await stream.result
    })
    if (!reply) throw new Error('The reply did not settle.')
    return { ...dead, reply }
  }

  async function spoken(stream: ReplyStream): Promise<void> {
    for await (const _ of stream) if (stream.reply && textOf(stream.reply) !== '') return
  }

  function found(resumed: Awaited<ReturnType<Client['resume']>>): ReplyStream {
    if (resumed.type !== 'found') throw new Error(`The prompt is ${resumed.type}.`)
    return resumed.stream
  }

  function again({ sessionID, text }: PostedPrompt): PromptInput {
    return { sessionID, text }
  }

  /** How often the model was asked to answer the prompt. */
  function runsOf({ text = '' }: PostedPrompt): number {
    return stage.model.requests.filter(({ kind, body }) => kind === 'step' && JSON.stringify(body).includes(text))
      .length
  }
}

function textsIn(reply: Reply | undefined) {
  const texts = reply ? partsOf(reply).filter((part) => part.type === 'text') : []
  return texts.map(({ status, text, holes }) => ({ status, text, holes }))
}

function pictureOf(reply: Reply) {
  return {
    prompts: reply.promptIDs,
    outcome: reply.outcome,
    text: textOf(reply),
    messages: reply.messages.map(({ id, finish, error }) => [id, finish, error?.name]),
    tools: toolsOf(reply).map(({ tool, state }) => [tool, state.status, state.output]),
    children: reply.children.map((child): unknown => pictureOf(child.reply)),
  }
}
