import type { Client } from '../drive/client.ts'
import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import type { RunOptions } from '../drive/runs/run-options.ts'
import { ReplyError } from '../error.ts'
import type { PromptInput } from '../source/input.ts'
import type { ValueSchema } from './decode/schema.ts'
import { noOutput } from './output.ts'
import type { Tool, ToolHost, Tools } from './tool.ts'

export interface TooledRun {
  readonly driver: Pick<Client, 'prompt'>
  readonly host: ToolHost
  readonly prompt: PromptInput
  readonly output: ValueSchema<unknown> | undefined
  readonly tools: Tools | undefined
  readonly runOptions: RunOptions
}

/** The tool by which an agent returns its result. */
const returnTool = 'return_result'

/** Agents call a tool reliably only if the prompt tells them to. */
const returnWords = `Return your result by calling the tool ${returnTool}, once, when the task is done.`

/** Posts a prompt once the agent has its tools, and takes them back when the run has settled. */
export function runWithTools({ driver, host, prompt, output, tools, runOptions }: TooledRun): {
  readonly run: Promise<ReplyStream>
  readonly result: Promise<unknown>
} {
  if (output && Object.hasOwn(tools ?? {}, returnTool))
    throw new ReplyError('invalid', `A tool has the name "${returnTool}", by which the result is returned: rename it.`)
  const returned = output && createReturnTool(output)
  const run = begin()
  const settled = run.then(async (stream) => await stream.result)
  if (!returned) return { run, result: settled }
  const unreturned = settled.then((reply) => {
    throw noOutput(reply, undefined)
  })
  return { run, result: Promise.race([returned.value, unreturned]) }

  async function begin(): Promise<ReplyStream> {
    const all = { ...tools, ...(returned && { [returnTool]: returned.tool }) }
    const offered = await host.offer(all, returned ? withWords(prompt) : prompt, driver)
    try {
      const stream = driver.prompt(offered.input, runOptions)
      void stream.result.then(() => offered.close())
      return stream
    } catch (error) {
      await offered.close()
      throw error
    }
  }
}

function withWords(prompt: PromptInput): PromptInput {
  return { ...prompt, parts: [...(prompt.parts ?? []), { type: 'text', text: returnWords, synthetic: true }] }
}

function createReturnTool(schema: ValueSchema<unknown>): { readonly tool: Tool; readonly value: Promise<unknown> } {
  let resolve: (value: unknown) => void = () => {}
  const value = new Promise<unknown>((settle) => {
    resolve = settle
  })
  const handler = (given: unknown): string => {
    resolve(given)
    return 'The result was received.'
  }
  return { value, tool: { description: 'Returns the result of the task to the program that asked.', schema, handler } }
}
