import { type OnError, ReplyError } from '@reply/core'
import { forModel } from '@reply/core/internal'
import type { Tool, Tools } from '@reply/core/thoughts'

/** A tool as a client sees it. */
export interface BoundTool {
  readonly description: string
  /** JSON Schema, of an object. */
  readonly schema: { readonly type: 'object'; readonly [field: string]: unknown }
  /** Never rejects: what goes wrong is for the model to read. */
  readonly call: (given: unknown, signal: AbortSignal) => Promise<{ readonly text: string; readonly isError: boolean }>
}

/** What the providers of models take as a name of a function. */
const namePattern = /^[\w-]{1,64}$/

/** Throws `invalid` for a name or a schema that can't be served. */
export function bindTools(tools: Tools, onError: OnError): ReadonlyMap<string, BoundTool> {
  return new Map(Object.entries(tools).map(([name, tool]) => [name, bind(name, tool, onError)]))
}

function bind(name: string, tool: Tool, onError: OnError): BoundTool {
  if (!namePattern.test(name)) {
    const shown = JSON.stringify(name.slice(0, 100))
    throw new ReplyError('invalid', `A tool is named ${shown}; use up to 64 letters, digits, "_" and "-".`)
  }
  const { schema, check } = forModel(tool.schema)
  return {
    description: tool.description,
    schema: { ...schema, type: 'object' },
    call: async (given, signal) => {
      const checked = await check(given)
      if (!('value' in checked))
        return { text: `The input does not fit the schema:\n${checked.problem}`, isError: true }
      try {
        const result = await tool.handler(checked.value, { signal })
        return { text: typeof result === 'string' ? result : (JSON.stringify(result) ?? ''), isError: false }
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        onError(new ReplyError('observer', `The tool ${name} failed: ${message}`, { cause: error }))
        return { text: message, isError: true }
      }
    },
  }
}
