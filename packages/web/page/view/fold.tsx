import type { ComponentChildren } from 'preact'
import { useView } from './context.ts'
import { Icon, type IconName } from './icons.tsx'

interface FoldProps {
  /** By which the view remembers whether it is open. */
  readonly id: string
  readonly icon: IconName
  readonly kind: string
  readonly isOpen: boolean
  /** What is shown while it is folded, too. */
  readonly head: ComponentChildren
  /** What is inside. It is only made while it is open. Absent if other rows are. */
  readonly children?: () => ComponentChildren
}

/** One line that unfolds: a call, a thought, a sub-agent. */
export function Fold({ id, icon, kind, isOpen, head, children }: FoldProps): ComponentChildren {
  const { toggle } = useView()
  return (
    <div class={`fold ${kind}`}>
      <button type="button" class="fold-head" aria-expanded={isOpen} data-fold onClick={() => toggle(id)}>
        <Icon name="chevron" />
        <Icon name={icon} />
        {head}
      </button>
      {isOpen && children && <div class="fold-body">{children()}</div>}
    </div>
  )
}
