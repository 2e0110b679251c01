"""From a plan and a call's buffers to messages: layout, binding, local reduction, execution."""
