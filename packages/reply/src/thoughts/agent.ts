import type { Client } from '../client/client.ts'
import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import type { RunOptions } from '../drive/runs/run-options.ts'
import { ReplyError } from '../error.ts'
import type { Reply } from '../reply.ts'
import { outputOf } from '../select.ts'
import type { PromptInput } from '../source/input.ts'
import { type Checked, type ModelSchema, modelSchemaOf, type ValueSchema } from './decode/schema.ts'
import { createThoughtStream, type ThoughtOptions, type ThoughtStream } from './stream.ts'
import type { Thought, ThoughtOf, ThoughtType } from './thought.ts'
import type { Tool, ToolHost, Tools } from './tool.ts'

/** Options of `createAgent`. */
export interface AgentOptions {
  /**
   * Serves your `tools` to the agent, and a tool through which it returns its `output`. `@reply/tools` has hosts.
   * Without a host, `tools` throw `unsupported`, and `output` uses the prompt's `format`. Only OpenCode 1 supports
   * that.
   */
  readonly host?: ToolHost | undefined
}

/** Options of one turn: all options of a run, and the events to read. */
export interface TurnOptions<T extends ThoughtType = ThoughtType, Inputs = unknown>
  extends RunOptions,
    ThoughtOptions<T> {
  /** Tools of this program that the agent may call in this turn, by name. */
  readonly tools?: { readonly [Name in keyof Inputs]: Tool<Inputs[Name]> } | undefined
  /** Absent: the result is the reply. */
  readonly output?: undefined
}

/** A turn that returns a value. */
export interface TypedTurnOptions<Output, T extends ThoughtType = ThoughtType, Inputs = unknown>
  extends Omit<TurnOptions<T, Inputs>, 'output'> {
  /** The schema of the value that the agent must return, for example a zod object. */
  readonly output: ValueSchema<Output>
}

/** An agent that takes tasks and returns results. */
export interface Agent {
  /**
   * Posts a prompt. The result resolves with the agent's value as soon as the agent returns it, and the turn continues.
   * It rejects with `no-output` if the turn ends without a value that fits the schema, and with the reason if the tools
   * could not be offered.
   */
  stream<Output, T extends ThoughtType = ThoughtType, Inputs = unknown>(
    input: string | PromptInput,
    options: TypedTurnOptions<Output, T, Inputs>,
  ): ThoughtStream<ThoughtOf<T>, Output>
  /** Posts a prompt. Its result is the settled reply. It rejects only if the tools could not be offered. */
  stream<T extends ThoughtType = ThoughtType, Inputs = unknown>(
    input: string | PromptInput,
    options?: TurnOptions<T, Inputs>,
  ): ThoughtStream<ThoughtOf<T>, Reply>
  /** The result of `stream`: a value. */
  run<Output, Inputs = unknown>(
    input: string | PromptInput,
    options: TypedTurnOptions<Output, ThoughtType, Inputs>,
  ): Promise<Output>
  /** The result of `stream`: the settled reply. */
  run<Inputs = unknown>(input: string | PromptInput, options?: TurnOptions<ThoughtType, Inputs>): Promise<Reply>
}

type AnyOptions = Omit<TurnOptions, 'output' | 'tools'> & {
  readonly output?: ValueSchema<unknown> | undefined
  readonly tools?: Tools | undefined
}

/** Creates an agent that prompts through any connection, from `connect()` or `connectSource()`. */
export function createAgent(client: Pick<Client, 'prompt'>, { host }: AgentOptions = {}): Agent {
  return { stream, run }

  function stream<Output, T extends ThoughtType, Inputs>(
    input: string | PromptInput,
    options: TypedTurnOptions<Output, T, Inputs>,
  ): ThoughtStream<ThoughtOf<T>, Output>
  function stream<T extends ThoughtType, Inputs>(
    input: string | PromptInput,
    options?: TurnOptions<T, Inputs>,
  ): ThoughtStream<ThoughtOf<T>, Reply>
  function stream(input: string | PromptInput, options?: AnyOptions): ThoughtStream<Thought, unknown> {
    return startTurn(input, options)
  }

  function run<Output, Inputs>(
    input: string | PromptInput,
    options: TypedTurnOptions<Output, ThoughtType, Inputs>,
  ): Promise<Output>
  function run<Inputs>(input: string | PromptInput, options?: TurnOptions<ThoughtType, Inputs>): Promise<Reply>
  async function run(input: string | PromptInput, options?: AnyOptions): Promise<unknown> {
    return await startTurn(input, options).result
  }

  /**
   * Posts the prompt at once, or after the host has offered the tools and a tool for `output`. Without a host, throws
   * `unsupported` for `tools`, and asks for `output` with the prompt's `format`. Throws `invalid` for a bad prompt or
   * schema. Without `output` the result is the reply.
   */
  function startTurn(input: string | PromptInput, options: AnyOptions = {}): ThoughtStream<Thought, unknown> {
    const prompt = typeof input === 'string' ? { text: input } : input
    const { include, output, tools, ...runOptions } = options
    if (host && (tools || output)) {
      const { run, result } = runWithTools(host, prompt, options)
      return createThoughtStream(() => run, result, { include })
    }
    if (tools)
      throw new ReplyError('unsupported', 'This agent has no host for tools. Pass createAgent a host of @reply/tools.')
    const wanted = output && modelSchemaOf(output)
    const format = wanted && { format: { type: 'json_schema' as const, schema: wanted.schema } }
    const run = client.prompt({ ...prompt, ...format }, runOptions)
    return createThoughtStream(async () => run, wanted ? firstFormatValue(run, wanted) : run.result, { include })
  }

  /**
   * Posts a prompt once the agent has its tools. Without `output` the result is the reply. With it, the result is the
   * first value that the agent passes to the return tool, and rejects with `no-output` if the run settles before.
   * Rejects if the tools can't be offered. Throws `invalid` if a tool has the return tool's name.
   */
  function runWithTools(
    host: ToolHost,
    prompt: PromptInput,
    { tools, output, include: _, ...runOptions }: AnyOptions,
  ): { readonly run: Promise<ReplyStream>; readonly result: Promise<unknown> } {
    if (output && Object.hasOwn(tools ?? {}, returnTool))
      throw new ReplyError(
        'invalid',
        `A tool has the name "${returnTool}", which is reserved for returning the result. Rename your tool.`,
      )
    const returned = output && createReturnTool(output)
    const run = offerAndPost()
    const settled = run.then(async (stream) => await stream.result)
    if (!returned) return { run, result: settled }
    const unreturned = settled.then((reply) => {
      throw noOutputError(reply, undefined)
    })
    return { run, result: Promise.race([returned.value, unreturned]) }

    /**
     * Offers the tools, then posts the prompt and resolves with its stream. Closes the tools if the prompt cannot be
     * posted, which rejects, or when the run has settled.
     */
    async function offerAndPost(): Promise<ReplyStream> {
      const all = { ...tools, ...(returned && { [returnTool]: returned.tool }) }
      const offered = await host.offer(all, returned ? withReturnInstruction(prompt) : prompt, client)
      try {
        const stream = client.prompt(offered.input, runOptions)
        void stream.result.then(() => offered.close())
        return stream
      } catch (error) {
        await offered.close()
        throw error
      }
    }
  }
}

/** The tool by which an agent returns its result. */
const returnTool = 'return_result'

/** Agents only call a tool reliably if the prompt asks for it. */
const returnInstruction = `Return your result by calling the tool ${returnTool}, once, when the task is done.`

/** Returns the prompt with a text that asks the agent to call the return tool, which people do not see. */
function withReturnInstruction(prompt: PromptInput): PromptInput {
  return { ...prompt, parts: [...(prompt.parts ?? []), { type: 'text', text: returnInstruction, synthetic: true }] }
}

/**
 * Creates the tool with which an agent returns its result, and a promise of the first value that the agent passes to
 * it. Later values are ignored.
 */
function createReturnTool(schema: ValueSchema<unknown>): { readonly tool: Tool; readonly value: Promise<unknown> } {
  let resolve: (value: unknown) => void = () => {}
  const value = new Promise<unknown>((settle) => {
    resolve = settle
  })
  const handler = (result: unknown): string => {
    resolve(result)
    return 'The result was received.'
  }
  return { value, tool: { description: 'Returns the result of the task to the program that asked.', schema, handler } }
}

/**
 * Resolves with the first value of the run that fits the schema, before the run ends. Rejects with `no-output` if there
 * is none.
 */
async function firstFormatValue<T>(run: ReplyStream, { check }: ModelSchema<T>): Promise<T> {
  let problem: string | undefined
  for await (const { message } of run.filter(['messageUpdated'])) {
    if (message.output === undefined) continue
    const checked = await check(message.output)
    if ('value' in checked) return checked.value
    problem = checked.problem
  }
  const reply = await run.result
  const output = outputOf(reply)
  const checked: Checked<T> | undefined = output === undefined ? undefined : await check(output)
  if (checked && 'value' in checked) return checked.value
  throw noOutputError(reply, problem)
}

/**
 * Creates the `no-output` error for a run without a valid value. `problem` is why the last value did not fit. Without
 * one, the error names the reply's.
 */
function noOutputError({ outcome, error }: Reply, problem: string | undefined): ReplyError {
  const reason = problem ?? error?.message
  const why = reason === undefined || reason === '' ? '' : `: ${reason}`
  return new ReplyError('no-output', `The run ended as ${outcome} without a value that fits the schema${why}`)
}
