import {
  createHandClock,
  createRecordedServer,
  type HandClock,
  type RecordedServer,
  readRecording,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { type Client, type ConnectOptions, connect, type Reply, type ReplyError } from '../../src/index.ts'

export interface Stage {
  readonly server: RecordedServer
  readonly clock: HandClock
  readonly opencode: Client
  readonly errors: readonly ReplyError[]
  /** When each event stream was requested, in ms since the beginning. */
  readonly opened: readonly number[]
  /** Waits until nothing moves any more. */
  readonly rest: () => Promise<void>
  readonly advance: (durationMs: number) => Promise<void>
}

export interface StageOptions {
  readonly scenario: string
  readonly version?: string
  /** The version that the server reports. Default: the recording's. */
  readonly tells?: string
  readonly connect?: Partial<ConnectOptions>
  /** Intercepts requests between the client and the server. */
  readonly between?: (request: Request, answer: (request: Request) => Promise<Response>) => Promise<Response>
  /** How many events happened before the client connects. */
  readonly before?: number
  /** Edits the recording. */
  readonly edit?: (text: string) => string
}

/** A real client connected to a recorded server, on a hand clock. */
export function setStage({
  scenario,
  version = '1.18.33',
  before = 0,
  tells = version,
  edit,
  ...options
}: StageOptions): Stage {
  const recorded = readRecording({ version, scenario }).bytes
  const bytes = edit ? new TextEncoder().encode(edit(new TextDecoder().decode(recorded))) : recorded
  const server = createRecordedServer({ bytes, version: tells })
  server.publish(before)
  const clock = createHandClock()
  const startedAt = clock.now()
  const errors: ReplyError[] = []
  const opened: number[] = []
  const kept: Request[] = []
  const stream = isOpenCode2(tells) ? '/api/event' : '/global/event'
  const answer = async (request: Request): Promise<Response> => {
    if (new URL(request.url).pathname === stream) opened.push(clock.now() - startedAt)
    return await server.fetch(request)
  }
  const opencode = connect({
    url: 'http://recorded',
    clock,
    random: () => 0,
    onError: (error) => errors.push(error),
    fetch: async (input, init) => {
      const request = new Request(input, init)
      // Node 20 passes no abort on to the signal of a request that was collected.
      kept.push(request)
      return await (options.between ? options.between(request, answer) : answer(request))
    },
    ...options.connect,
  })
  const rest = async (): Promise<void> => {
    for (let calm = 0; calm < 3; ) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      calm = server.answering === 0 ? calm + 1 : 0
    }
  }
  return { server, clock, opencode, errors, opened, rest, advance: (durationMs) => clock.advance(durationMs, rest) }
}

/**
 * An intercept that gives a recording's first prompt the id of the prompt that is posted, as a server does that keeps
 * ids. Both ids have the same length.
 */
export function keepingPromptID({ scenario, version = '1.18.33' }: StageOptions): NonNullable<StageOptions['between']> {
  const [recordedID = ''] = /msg_\w+/.exec(new TextDecoder().decode(readRecording({ version, scenario }).bytes)) ?? []
  let promptID = recordedID
  return async (request, answer) => {
    if (request.method === 'POST' && /prompt/.test(request.url)) {
      promptID = /msg_\w+/.exec(await request.clone().text())?.[0] ?? promptID
    }
    const { body, status, headers } = await answer(request)
    const renaming = new TransformStream<string, string>({
      transform: (text, controller) => controller.enqueue(text.replaceAll(recordedID, promptID)),
    })
    // A recorded server sends whole frames.
    const renamed = body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(renaming)
      .pipeThrough(new TextEncoderStream())
    return new Response(renamed ?? null, { status, headers })
  }
}

/** The newest state of every reply that a watcher receives. */
export function watchAll(opencode: Client): Reply[] {
  const replies: Reply[] = []
  opencode.watch(
    {},
    {
      observe: (first) => {
        const index = replies.push(first) - 1
        const keep = ({ reply }: { readonly reply: Reply }): void => {
          replies[index] = reply
        }
        return [
          {
            permissionAsked: keep,
            messageUpdated: keep,
            partChanged: keep,
            replySettled: keep,
            stalledChanged: keep,
            replyAmended: keep,
          },
        ]
      },
    },
  )
  return replies
}
