import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import { ReplyError } from '../error.ts'
import type { Reply } from '../reply.ts'
import { outputOf } from '../select.ts'
import type { Checked, ModelSchema } from './decode/schema.ts'

/** The first value of a run's `format` that fulfills the schema, as soon as it is there. Rejects with `no-output`. */
export async function awaitFormat<T>(run: ReplyStream, { check }: ModelSchema<T>): Promise<T> {
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
  throw noOutput(reply, problem)
}

export function noOutput({ outcome, error }: Reply, problem: string | undefined): ReplyError {
  const reason = problem ?? error?.message
  const why = reason === undefined || reason === '' ? '' : `: ${reason}`
  return new ReplyError('no-output', `The run ended as ${outcome} without a value that fits the schema${why}`)
}
