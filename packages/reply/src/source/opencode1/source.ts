import type { Clock } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import { type FileKind, takesOf } from '../file-type.ts'
import { endsWithRules, unguardedError } from '../guard-rules.ts'
import type { Address } from '../http/address.ts'
import { createMessageIDs } from '../message-id.ts'
import type {
  AskAddress,
  Capabilities,
  CreateInput,
  OpenCodeSource,
  SessionInfo,
  SessionQuery,
  SourceAnswer,
  TakesTarget,
} from '../port.ts'
import { sharedRead } from '../shared-read.ts'
import { toCommandBody, toCreateBody, toPromptBody } from './bodies.ts'
import { createConnector } from './connect.ts'
import {
  toAgentModel,
  toLastModel,
  toReadAgents,
  toReadCommands,
  toReadDefaults,
  toReadMessages,
  toReadModels,
  toReadRules,
  toReadSession,
  toReadSessions,
} from './decode/rest-responses.ts'
import { createSessionGuard } from './guard.ts'
import { createPlaces } from './places.ts'
import { readAsks, readNewestTime, readWorking, startReading } from './reading.ts'
import { createRest } from './rest.ts'
import { capabilitiesOf } from './version.ts'

export interface OpenCode1Options {
  readonly address: Address
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** Returns a number from 0 to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined
  /** How long a call waits for a response, in ms. */
  readonly deadlineMs: number
  /** The maximum size of a response, in bytes. */
  readonly maxAnswerBytes: number
  /** Receives malformed items that were left out. */
  readonly onError: OnError
}

/** Creates a source for servers of OpenCode 1, from 1.1 on. Requests nothing until it is used. */
export function createOpenCode1(options: OpenCode1Options): OpenCodeSource {
  const { address, clock, onError } = options
  const rest = createRest(options)
  const places = createPlaces(rest, address.url, onError)
  const working = sharedRead(async (directory: string | undefined) => await readWorking(rest, onError, directory))
  const reading = { rest, places, working, clock, onError }
  const sessionGuard = createSessionGuard(rest, address.url)
  const nextMessageID = createMessageIDs(options)
  return {
    name: address.url,
    connect: createConnector(address, options.fetch, clock, onError),
    learn: learnCapabilities,
    startReading: () => startReading(reading),
    session: places.session,
    message: async (place, messageID) => toReadMessages([await rest.message(place, messageID)], onError)[0],
    children: async (place) => toReadSessions(await rest.children(place), onError),
    working,
    asks: (directory) => readAsks(rest, clock, onError, directory),
    sessions: readQueriedSessions,
    newestTime: (directory) => readNewestTime(reading, directory),
    spelled: places.spelled,
    create: createSession,
    guard: sessionGuard.guard,
    prompt: async (place, prompt, signal) => void (await rest.prompt(place, toPromptBody(prompt), signal)),
    command: async (place, command, signal) => void (await rest.command(place, toCommandBody(command), signal)),
    answer: answerAsk,
    reject: rejectAsk,
    abort: async (place) => void (await rest.abort(place)),
    models: async (directory) => toReadModels(await rest.providers(directory), onError),
    takes: readTakes,
    agents: async (directory) => toReadAgents(await rest.agents(directory), onError),
    commands: async (directory) => toReadCommands(await rest.commands(directory), onError),
    fork: async (place, messageID) => toCreatedSession('fork', await rest.fork(place, messageID), place.directory),
    revert: async (place, messageID) => void (await rest.revert(place, messageID)),
    unrevert: async (place) => void (await rest.unrevert(place)),
    compact: async (place, model) => void (await rest.summarize(place, model)),
    close: rest.close,
  }

  /** Returns the capabilities of the server's version, or those of an old one if its health can't be read. */
  async function learnCapabilities(): Promise<Capabilities> {
    return capabilitiesOf(await rest.health().catch(() => undefined), nextMessageID)
  }

  /**
   * Lists what the model of a prompt takes: the prompt's own, else that of its agent's settings, else the session's last one, else
   * that of the config, as the server chooses it (`createUserMessage` of
   * https://github.com/sst/opencode/blob/dev/packages/opencode/src/session/prompt.ts).
   */
  async function readTakes({
    sessionID,
    directory,
    agent,
    model,
  }: TakesTarget): Promise<readonly FileKind[] | undefined> {
    const models = toReadModels(await rest.providers(directory), onError)
    if (model) return takesOf(models, model)
    const [config, agents, messages] = await Promise.all([
      rest.config(directory),
      rest.agents(directory),
      sessionID === undefined ? [] : rest.newestMessage({ sessionID, directory }),
    ])
    const defaults = toReadDefaults(config)
    return takesOf(models, toAgentModel(agents, agent ?? defaults.agent) ?? toLastModel(messages) ?? defaults.model)
  }

  /** Lists the root sessions of a directory or of all projects. A session without a directory gets the query's. */
  async function readQueriedSessions({
    directory,
    everywhere = false,
    since,
  }: SessionQuery): Promise<readonly SessionInfo[]> {
    if (everywhere) return await places.sessionsEverywhere(since)
    return (await readRootSessions(since, directory)).map((info) => ({
      ...info,
      directory: info.directory ?? directory,
    }))
  }

  /** Lists the root sessions of a directory that changed at this time or later. Lists all without a time. */
  async function readRootSessions(since: number | undefined, directory: string | undefined) {
    return toReadSessions(await rest.sessions(since, directory), onError)
  }

  /**
   * Creates a session, with the guard's rules if it is to be guarded. Rejects with `unguarded` if the server didn't
   * store them.
   */
  async function createSession(input: CreateInput): Promise<SessionInfo> {
    const rules = input.guarded ? await sessionGuard.rulesFor(input) : []
    const session = await rest.create(input.directory, toCreateBody(input, rules))
    if (!endsWithRules(toReadRules(session), rules))
      throw unguardedError(
        `A new session of ${address.url}`,
        'The server takes no rules for new sessions. Update OpenCode.',
      )
    return toCreatedSession('', session, input.directory)
  }

  /** Answers a permission or a question, by the answer's type. The signal cancels the call unless it was sent. */
  async function answerAsk(ask: AskAddress, sourceAnswer: SourceAnswer, signal?: AbortSignal): Promise<void> {
    if (typeof sourceAnswer === 'string') await rest.permit(ask, sourceAnswer, undefined, signal)
    else
      await rest.answerQuestion(
        ask,
        sourceAnswer.map((answers) => [...answers]),
        signal,
      )
  }

  /**
   * Rejects a permission with the message, or a question without it. The signal cancels the call unless it was sent.
   */
  async function rejectAsk(ask: AskAddress, message?: string, signal?: AbortSignal): Promise<void> {
    if (ask.type === 'permission') await rest.permit(ask, 'reject', message, signal)
    else await rest.rejectQuestion(ask, signal)
  }
}

/**
 * Converts the response to `POST /session`, or to a route below it, to a session. One without a directory gets the passed
 * one. Throws `malformed` if it isn't a session.
 */
function toCreatedSession(subroute: string, value: unknown, directory: SessionRef['directory']): SessionInfo {
  const session = toReadSession(value)
  if (session) return { ...session, directory: session.directory ?? directory }
  const path = subroute === '' ? 'POST /session' : `POST /session/:id/${subroute}`
  throw new ReplyError('malformed', `The server answered ${path} with something that is not a session.`)
}
