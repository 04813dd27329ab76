import type { Change } from '../change.ts'
import type { ReplyEvent } from '../event.ts'
import { same } from '../fields.ts'
import type { Reply } from '../reply.ts'
import { withFields } from './shape.ts'

type TodosEvent = Extract<ReplyEvent, { readonly type: 'todos' }>

/** Sets the checklist, and remembers whether this run wrote it. */
export function applyTodos(reply: Reply, { todos, isOwn }: TodosEvent, changes: Change[]): Reply {
  const wroteTodos = isOwn ?? reply.wroteTodos
  if (wroteTodos === reply.wroteTodos && same(reply.todos, todos)) return reply
  changes.push({ type: 'todosChanged', todos })
  return withFields(reply, { todos, wroteTodos })
}
