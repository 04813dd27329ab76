import { escapeInvisible, type Todo } from '@reply/core'
import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'
import { memo } from './memo.ts'

const marks: Readonly<Record<string, string>> = { pending: '○', in_progress: '◐', completed: '●', cancelled: '⊘' }

/** A checklist. */
export const Todos = memo(
  ({ todos }: { readonly todos: readonly Todo[] }): ComponentChildren => (
    <ul class="todos" aria-label={texts.checklist}>
      {todos.map(({ content, status }, index) => {
        const isKnown = Object.hasOwn(marks, status)
        return (
          <li key={index} class={`todo ${isKnown ? status : 'other'}`}>
            <span class="todo-mark" role="img" aria-label={isKnown ? texts.todo[status] : status}>
              {isKnown ? marks[status] : '○'}
            </span>
            <span>{escapeInvisible(content)}</span>
          </li>
        )
      })}
    </ul>
  ),
)
