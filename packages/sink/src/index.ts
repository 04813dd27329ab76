export type { Budget, ButtonLimits, Limits } from './limits.ts'
export {
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  type Chat,
  type EditOptions,
  type MessageRef,
  type NativeStream,
  PortError,
  type PortErrorOptions,
  type PortErrorType,
  type PostOptions,
  type Render,
  type Rendered,
} from './port.ts'
