/** A person of the demo, who is the same on all platforms. */
export interface Person {
  /** The name in the bridge's config. */
  readonly id: string
  /** The name that all platforms show. */
  readonly name: string
  readonly may: readonly ('prompt' | 'approve' | 'admin')[]
  /** Tells their accounts apart: 1, 2, … */
  readonly number: number
}

/** May do everything. */
export const ann: Person = { id: 'ann', name: 'Ann', may: ['prompt', 'approve', 'admin'], number: 1 }
/** Needs Ann to allow what his prompts run. */
export const ben: Person = { id: 'ben', name: 'Ben', may: ['prompt'], number: 2 }
/** The people of all chats, except WhatsApp's. */
export const people: readonly Person[] = [ann, ben]
